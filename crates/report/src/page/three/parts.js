// The parts of three.js that pages use. What is in three.min.js beside this file was made of it by
//   npm install three@0.187.0 esbuild@0.28.2
//   npx esbuild parts.js --bundle --minify --format=iife --global-name=Three --outfile=three.min.js --banner:js="$NOTE"
// where NOTE is "/* three.js 0.187.0, (c) 2010-2026 three.js authors, MIT license */".
export {
  AmbientLight, BackSide, BufferAttribute, BufferGeometry, ColorManagement, ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide,
  EdgesGeometry, Group, LinearSRGBColorSpace, LineBasicMaterial, LineSegments, Mesh, MeshBasicMaterial, MeshLambertMaterial,
  PCFShadowMap, PerspectiveCamera, Scene, ShadowMaterial, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
