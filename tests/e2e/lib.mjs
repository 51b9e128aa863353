// What the end-to-end tests share: workspaces, clients, and the processes of a session as the host sees them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import './messages.mjs'; // every message is held against the protocol's schemas

export const CLOCHE = process.env.CLOCHE;
assert.ok(CLOCHE, 'CLOCHE is the path of cloche');
export { sleep };

export const TOOLS = ['read_file', 'write_file', 'list_directory', 'search_workspace', 'run_bash', 'search_and_replace'];

// A folder for the test `t` that is removed after it.
export function makeWorkspace(t) {
  const dir = mkdtempSync(join(tmpdir(), 'cloche-e2e-ws-'));
  chmodSync(dir, 0o755);
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

// A number that appears in the argument lists of cloche, init and server started with it, and nowhere else.
let marks = 0;
export function newMark() {
  return 100000000 + ((process.pid * 1009 + (marks += 1) * 7919 + (Date.now() % 100000) * 31) % 900000000);
}

export function serverParameters(dir, { mark = newMark(), options = [], env = {} } = {}) {
  return {
    command: CLOCHE,
    // RLIMIT_LOCKS is a limit that the kernel keeps and never uses.
    args: ['mcp', '--ulimit', `locks=${mark}`, ...options, dir],
    env: { PATH: process.env.PATH, HOME: '/nonexistent', MAX_WRITE_SIZE_BYTES: '5242880', MAX_READ_SIZE_BYTES: String(Math.min(mark, 1073741824)), ...env },
    stderr: 'pipe',
    mark,
  };
}

// An official client (the first generation) connected to `cloche mcp`; closed after the test. `.mark` finds its processes,
// `.log` is what came on standard error, `.call(tool, arguments)` gives { text, isError, result }.
export async function connect(t, dir, settings = {}) {
  const { mark, ...parameters } = serverParameters(dir, settings);
  const client = new ClientV1({ name: 'cloche-e2e', version: '1' }, settings.client ?? {});
  const transport = new TransportV1(parameters);
  client.mark = mark;
  client.log = '';
  client.errors = [];
  client.onerror = (error) => client.errors.push(error);
  transport.stderr?.on('data', (chunk) => { client.log += chunk; });
  t.after(async () => { await client.close(); });
  await client.connect(transport);
  client.pid = transport.pid;
  client.call = (name, args = {}, options = {}) => callTool(client, name, args, options);
  return client;
}

export async function callTool(client, name, args, options) {
  const result = await client.callTool({ name, arguments: args }, undefined, { timeout: 120000, ...options });
  assert.equal(result.content.length, 1, 'one block');
  assert.equal(result.content[0].type, 'text');
  return { text: result.content[0].text, isError: result.isError === true, result };
}

// A call that must work, with an answer that contains each of `wanted` (strings or expressions). Returns its text.
export async function good(client, name, args, ...wanted) {
  const { text, isError } = await client.call(name, args);
  assert.equal(isError, false, `${name} failed: ${text}`);
  for (const part of wanted) contains(text, part);
  return text;
}

// A call that must fail as a tool result, not as a protocol error.
export async function bad(client, name, args, ...wanted) {
  const { text, isError } = await client.call(name, args);
  assert.equal(isError, true, `${name} should have failed: ${text}`);
  for (const part of wanted) contains(text, part);
  return text;
}

export function contains(text, part) {
  if (part instanceof RegExp) assert.match(text, part);
  else assert.ok(text.includes(part), `${JSON.stringify(text.slice(0, 2000))} should contain ${JSON.stringify(part)}`);
}

export function lacks(text, part) {
  assert.ok(!text.includes(part), `${JSON.stringify(text.slice(0, 2000))} should not contain ${JSON.stringify(part)}`);
}

// Runs a command that must end with 0; its output without the status line.
export async function bash(client, command, timeout) {
  const text = await good(client, 'run_bash', timeout ? { command, timeout } : { command });
  assert.match(text, /^\[Exit code: 0\]/, `${command}: ${text}`);
  return text.replace(/^\[Exit code: 0\]\n?/, '');
}

// Host processes whose arguments contain `word`.
export function processes(word) {
  const found = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      if (words.includes(String(word)) && Number(pid) !== process.pid) found.push(`${pid} ${words.replaceAll('\0', ' ')}`);
    } catch { /* it has ended */ }
  }
  return found;
}

// Memory in kB of a process that processes() found; 0 when it has ended meanwhile.
export function residentKib(line) {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${line.split(' ')[0]}/status`, 'utf8'))?.[1] ?? 0);
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return 0;
    throw error;
  }
}

export async function until(condition, what, milliseconds = 5000) {
  const end = Date.now() + milliseconds;
  while (!(await condition())) {
    if (Date.now() > end) assert.fail(`${what} did not happen within ${milliseconds} ms`);
    await sleep(20);
  }
}

export async function allGone(word, milliseconds = 3000) {
  await until(() => processes(word).length === 0, `the end of ${processes(word).join('; ')}`, milliseconds);
}

// cloche with raw pipes: { child, lines, stderr, ended: promise of { code, signal } }.
export function raw(t, args, env = {}) {
  const child = spawn(CLOCHE, args, { env: { PATH: process.env.PATH, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  const state = { child, lines: [], stderr: '', rest: '' };
  child.stdin.on('error', () => {}); // it may end before it has read everything
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    const parts = (state.rest + chunk).split('\n');
    state.rest = parts.pop();
    state.lines.push(...parts);
  });
  child.stderr.setEncoding('utf8').on('data', (chunk) => { state.stderr += chunk; });
  state.ended = new Promise((resolve) => { child.on('close', (code, signal) => resolve({ code, signal })); });
  state.send = (...messages) => { for (const m of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...m })}\n`); };
  state.answer = async (id) => {
    const find = () => state.lines.map((line) => JSON.parse(line)).find((m) => m.id === id);
    await until(find, `the answer to ${id}`, 30000);
    return find();
  };
  t.after(() => { if (child.exitCode === null) child.kill('SIGKILL'); });
  return state;
}

export function initialize(id, protocolVersion = '2025-11-25') {
  return { id, method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } } };
}
