// Small helpers, and reading the data of the page (see page_data.rs).

const element = (id) => document.getElementById(id);

const paints = new Map();

/** A colour of the style sheet. */
function paint(name) {
  if (!paints.has(name)) paints.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return paints.get(name);
}

const nextAnimationFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

function createElement(name, properties = {}, children = []) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}

/** The last index whose value is at most `wanted` (0 if there is none), in increasing values. */
function indexAtOrBefore(values, wanted) {
  let low = 0;
  let high = values.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle;
    else high = middle;
  }
  return low;
}

function formatLength(metres) {
  const tidy = (value) => String(Number(value.toPrecision(3)));
  if (metres >= 1) return `${tidy(metres)} m`;
  return metres >= 0.01 ? `${tidy(metres * 100)} cm` : `${tidy(metres * 1000)} mm`;
}

const VIRIDIS = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];

/** The colour of a part of the largest pressure: red, green and blue up to 255. */
function viridis(part) {
  const place = Math.min(Math.max(part, 0), 1) * (VIRIDIS.length - 1);
  const index = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const [from, to] = [VIRIDIS[index], VIRIDIS[index + 1]].map((color) => {
    return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  });
  return from.map((value, k) => Math.round(value + (to[k] - value) * (place - index)));
}

const CSS_COLORS = Array.from({ length: 256 }, (_, index) => `rgb(${viridis(index / 255).join(",")})`);
const cssViridis = (part) => CSS_COLORS[Math.round(255 * Math.min(Math.max(part, 0), 1))];

/** Says on the page, in plain words, what could not be shown. The rest of the page stays. */
function reportProblem(words, cause) {
  document.documentElement.dataset.error = cause;
  const problems = element("problems");
  problems.hidden = false;
  problems.append(createElement("p", { textContent: words }));
}

const ARRAY_TYPES = { f32: Float32Array, f64: Float64Array, u32: Uint32Array, u16: Uint16Array, u8: Uint8Array, i8: Int8Array };
const HEADER_START = 4;
const ALIGNMENT = 8;

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

async function decompress(bytes) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot unpack the data of this page; one of 2023 or later can");
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** The header of the run, with every array description replaced by a view of its numbers. */
function parseRun(buffer) {
  const headerLength = new DataView(buffer).getUint32(0, true);
  const header = new TextDecoder().decode(new Uint8Array(buffer, HEADER_START, headerLength));
  const binaryStart = Math.ceil((HEADER_START + headerLength) / ALIGNMENT) * ALIGNMENT;
  return JSON.parse(header, (key, value) => {
    const isArray = value !== null && typeof value === "object" && "at" in value && "count" in value;
    return isArray ? new ARRAY_TYPES[value.type](buffer, binaryStart + value.at, value.count) : value;
  });
}

/** The bytes that an element of the page holds as text, which goes: it is large and not needed any more. */
async function unpack(name) {
  const holder = element(name);
  const bytes = decodeBase64(holder.textContent);
  holder.remove();
  return decompress(bytes);
}

const readRun = async () => parseRun(await unpack("run"));

/** Runs a library that the page holds. */
async function runLibrary(name) {
  const code = new TextDecoder().decode(await unpack(name));
  document.head.append(createElement("script", { textContent: code }));
}
