// The JSON schemas of the protocol's five revisions, and which of their definitions a message has to satisfy.
//
// Four of them are carried by the official conformance suite, as objects in its program, which is looked through for them here; the
// package is pinned. Of 2024-11-05 no package has one: it is that of 2025-03-26 without the audio content and the batches that came
// with it (all else that came are members that may be absent, and that 2024-11-05 does not forbid).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';

const require = createRequire(import.meta.url);
const Ajv = require('ajv').default;
const Ajv2020 = require('ajv/dist/2020.js').default;
const addFormats = require('ajv-formats').default;

export const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];
export const MODERN = '2026-07-28';
const NEWEST_LEGACY = '2025-11-25';

// Which revision a schema is of: a definition that it has and its predecessor has not.
const MARKS = [['2026-07-28', 'DiscoverResult'], ['2025-11-25', 'CreateTaskResult'], ['2025-06-18', 'ElicitResult'], ['2025-03-26', 'JSONRPCBatchResponse']];

// Behind the object literal that begins at `at`.
function literalEnd(text, at) {
  for (let depth = 0; at < text.length; at++) {
    if (text[at] === '`') for (at++; text[at] !== '`'; at++) at += text[at] === '\\';
    else if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return at + 1;
  }
  throw new Error('an object without an end');
}

function packagedSchemas() {
  const main = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json'));
  const text = readFileSync(join(dirname(main), 'dist', 'index.js'), 'utf8');
  const found = {};
  for (const match of text.matchAll(/\{\$schema:`[^`]*`,(?:definitions|\$defs):\{Annotations:/g)) {
    const schema = vm.runInNewContext(`JSON.stringify(${text.slice(match.index, literalEnd(text, match.index))})`);
    const parsed = JSON.parse(schema);
    const [revision] = MARKS.find(([, mark]) => mark in (parsed.definitions ?? parsed.$defs)) ?? [];
    assert.ok(revision && !(revision in found), 'each schema in the package is of one revision');
    found[revision] = parsed;
  }
  assert.equal(Object.keys(found).length, 4, 'the package carries four schemas');
  return found;
}

function firstRevision(schema) {
  const copy = JSON.parse(JSON.stringify(schema, (key, value) => (key === 'anyOf' ? value.filter((one) => !one.$ref?.endsWith('/AudioContent')) : value)));
  for (const name of ['AudioContent', 'JSONRPCBatchRequest', 'JSONRPCBatchResponse']) delete copy.definitions[name];
  copy.definitions.JSONRPCMessage.anyOf = copy.definitions.JSONRPCMessage.anyOf.filter((one) => one.$ref);
  return copy;
}

class Revision {
  constructor(revision, schema) {
    this.revision = revision;
    this.key = '$defs' in schema ? '$defs' : 'definitions';
    this.definitions = schema[this.key];
    this.ajv = new (this.key === '$defs' ? Ajv2020 : Ajv)({ strict: false, allErrors: true });
    addFormats(this.ajv);
    this.ajv.addSchema({ ...schema, $id: `mcp:${revision}` });
    this.results = new Map([['ping', 'EmptyResult'], ['logging/setLevel', 'EmptyResult'], ['resources/subscribe', 'EmptyResult'],
      ['resources/unsubscribe', 'EmptyResult']]);
    this.methods = new Map();
    this.errors = new Map();
    for (const [name, definition] of Object.entries(this.definitions)) {
      const method = definition.properties?.method?.const;
      if (method) this.methods.set(method, name);
      const result = name.replace(/Request$/, 'Result');
      if (method && result !== name && result in this.definitions) this.results.set(method, result);
      for (const part of definition.properties?.error?.allOf ?? []) if (part.properties?.code?.const) this.errors.set(part.properties.code.const, name);
    }
  }

  // What is wrong with `value` as the definition `name`: nothing, or sentences.
  check(name, value) {
    const validate = this.ajv.getSchema(`mcp:${this.revision}#/${this.key}/${name}`);
    assert.ok(validate, `${this.revision} defines ${name}`);
    if (validate(value)) return [];
    return validate.errors.slice(0, 5).map((error) => `${name}${error.instancePath}: ${error.message} ${JSON.stringify(error.params)}`);
  }

  first(...names) {
    return names.find((name) => name in this.definitions);
  }

  // The definition of the result of a request, or undefined: this revision does not know the method.
  resultName(request, result) {
    if (result?.resultType === 'task' || (this.revision === MODERN && request.method.startsWith('tasks/'))) return 'Result'; // an extension's
    if (result?.resultType === 'input_required') return 'InputRequiredResult';
    if (request.method === 'tools/call' && request.params?.task && 'CreateTaskResult' in this.definitions) return 'CreateTaskResult';
    return this.results.get(request.method);
  }
}

let loaded;
export function revisions() {
  if (!loaded) {
    const schemas = packagedSchemas();
    schemas['2024-11-05'] = firstRevision(schemas['2025-03-26']);
    loaded = Object.fromEntries(REVISIONS.map((revision) => [revision, new Revision(revision, schemas[revision])]));
  }
  return loaded;
}

// The revision that a client asked for in a request itself.
export function ownRevision(request) {
  const meta = request?.params?._meta;
  return meta && typeof meta === 'object' && 'io.modelcontextprotocol/protocolVersion' in meta ? MODERN : undefined;
}

// Checks one session: what the client sends tells what the server's answers are answers to. `say(name of the definition)` hears what
// was checked, `complain(sentence)` what was wrong.
export class Session {
  constructor(say, complain) {
    this.say = say;
    this.complain = complain;
    this.negotiated = NEWEST_LEGACY; // of answers before the first initialize
    this.requests = new Map();
    this.open = new Map(); // id -> how many of its requests have no answer yet
    this.tokens = new Map();
  }

  sent(message) {
    if (Array.isArray(message)) for (const one of message) this.sent(one);
    if (typeof message?.method !== 'string' || message.id === undefined) return;
    const id = JSON.stringify(message.id);
    this.requests.set(id, message);
    this.open.set(id, (this.open.get(id) ?? 0) + 1);
    const token = message.params?._meta?.progressToken;
    if (token !== undefined) this.tokens.set(JSON.stringify(token), ownRevision(message));
  }

  check(revision, name, value, message) {
    const wrong = revisions()[revision].check(name, value);
    this.say(revision, name);
    for (const problem of wrong) this.complain(`${revision}: ${problem}: ${JSON.stringify(message).slice(0, 600)}`);
    return wrong.length === 0;
  }

  received(message) {
    if (Array.isArray(message)) {
      this.check('2025-03-26', 'JSONRPCBatchResponse', message, message);
      for (const one of message) this.received(one);
    } else if (typeof message?.method === 'string') {
      this.receivedCall(message);
    } else if (message?.error !== undefined) {
      this.receivedError(message);
    } else {
      this.receivedResult(message);
    }
  }

  // A request or a notification of the server's.
  receivedCall(message) {
    const meta = message.params?._meta;
    const modern = message.method === 'notifications/progress' ? this.tokens.get(JSON.stringify(message.params?.progressToken))
      : meta && 'io.modelcontextprotocol/subscriptionId' in meta ? MODERN : undefined;
    // A log message does not say to which request it belongs.
    const unsure = message.method === 'notifications/message' && [...this.requests.values()].some(ownRevision);
    const revision = modern ?? (unsure ? MODERN : this.negotiated);
    const of = revisions()[revision];
    const name = of.methods.get(message.method);
    if (!name) this.complain(`${revision}: the method ${message.method} is not defined: ${JSON.stringify(message).slice(0, 600)}`);
    else this.check(revision, name, message, message);
    this.check(revision, message.id === undefined ? 'JSONRPCNotification' : 'JSONRPCRequest', message, message);
  }

  // The request that a message answers; undefined when there is none, or when it has its answer already.
  answered(message) {
    const id = JSON.stringify(message.id);
    const open = this.open.get(id) ?? 0;
    if (open === 0) return undefined;
    this.open.set(id, open - 1);
    return this.requests.get(id);
  }

  receivedError(message) {
    const request = this.answered(message);
    // An error without an id, for a message that cannot be read, exists since 2025-11-25; what else could be said to an older client?
    const revision = ownRevision(request) ?? (message.id === undefined && this.negotiated < NEWEST_LEGACY ? NEWEST_LEGACY : this.negotiated);
    const of = revisions()[revision];
    this.check(revision, of.first('JSONRPCErrorResponse', 'JSONRPCError'), message, message);
    const special = of.errors.get(message.error?.code);
    if (special) this.check(revision, special, special in of.definitions && of.definitions[special].properties?.error ? message : message.error, message);
  }

  receivedResult(message) {
    const request = this.answered(message);
    if (!request) {
      this.complain(`an answer to nothing, or a second one: ${JSON.stringify(message).slice(0, 600)}`);
      return;
    }
    if (request.method === 'initialize' && !ownRevision(request)) this.negotiated = REVISIONS.includes(message.result?.protocolVersion) ? message.result.protocolVersion : NEWEST_LEGACY;
    const revision = ownRevision(request) ?? this.negotiated;
    const of = revisions()[revision];
    const name = of.resultName(request, message.result);
    this.check(revision, of.first('JSONRPCResultResponse', 'JSONRPCResponse'), message, message);
    if (!name) this.complain(`${revision}: a result for ${request.method}, which is not defined: ${JSON.stringify(message).slice(0, 600)}`);
    else this.check(revision, name, message.result, message);
  }
}
