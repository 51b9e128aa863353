// The messages of the server satisfy the JSON schemas of the revision in which they are said. Every test checks that for what it happens
// to see (messages.mjs); here each revision is gone through on purpose, and the check itself is checked.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { initialize, makeWorkspace, raw, until } from './lib.mjs';
import { problems, seen } from './messages.mjs';
import { MODERN, REVISIONS, Session, revisions } from './schema.mjs';

const SEARCH = { name: 'search_workspace', arguments: { query: 'needle' } };
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

function fill(dir) {
  writeFileSync(join(dir, 'a.txt'), 'needle\n'.repeat(3));
  writeFileSync(join(dir, 'b.bin'), Buffer.from([0, 1, 2, 255]));
  writeFileSync(join(dir, 'c.png'), PNG);
  mkdirSync(join(dir, 'src'));
}

// Requests that all revisions have; a result is as good as an error, as long as it is in its form.
const EVERYWHERE = [
  { method: 'tools/list' }, { method: 'tools/list', params: { cursor: 'nonsense' } },
  { method: 'tools/call', params: SEARCH },
  { method: 'tools/call', params: { name: 'read_file', arguments: { path: 'a.txt' } } },
  { method: 'tools/call', params: { name: 'read_file', arguments: { path: 'c.png' } } },
  { method: 'tools/call', params: { name: 'read_file', arguments: { path: 'missing' } } },
  { method: 'tools/call', params: { name: 'run_bash', arguments: { command: 'echo out; echo err >&2; exit 3' } } },
  { method: 'tools/call', params: { name: 'no_such_tool' } }, { method: 'tools/call', params: 5 },
  { method: 'resources/list' }, { method: 'resources/templates/list' },
  ...['file:///workspace/a.txt', 'file:///workspace/b.bin', 'file:///workspace/src', 'file:///workspace/no', 'file:///etc/passwd', 'cloche://policy',
    'cloche://jobs', 'cloche://jobs/no/output', 'skill://cloche/SKILL.md', 'x:'].map((uri) => ({ method: 'resources/read', params: { uri } })),
  { method: 'prompts/list' }, { method: 'prompts/get', params: { name: 'cloche' } }, { method: 'prompts/get', params: { name: 'no' } },
  { method: 'completion/complete', params: { ref: { type: 'ref/prompt', name: 'no' }, argument: { name: 'x', value: '' } } },
  { method: 'completion/complete', params: { ref: { type: 'ref/resource', uri: 'file:///workspace/{+path}' }, argument: { name: 'path', value: 'a' } } },
  { method: 'no/such/method' },
];
const LEGACY = [
  { method: 'ping' }, { method: 'logging/setLevel', params: { level: 'debug' } }, { method: 'logging/setLevel', params: { level: 'x' } },
  { method: 'resources/subscribe', params: { uri: 'file:///workspace/a.txt' } }, { method: 'resources/unsubscribe', params: { uri: 'file:///workspace/a.txt' } },
  { method: 'server/discover' },
];
const MODERN_ONLY = [{ method: 'server/discover' }, { method: 'ping' }, { method: 'tasks/get', params: { taskId: 'no' } }];
const TASKS = [{ method: 'tasks/list' }, { method: 'tasks/get', params: { taskId: 'no' } }, { method: 'tasks/cancel', params: { taskId: 'no' } }];

const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'schema', version: '1' },
};

// Sends requests one after the other and waits for each answer.
async function goThrough(server, requests, meta) {
  for (const [number, request] of requests.entries()) {
    const id = `${request.method} ${number}`;
    const params = typeof request.params === 'number' ? request.params : { ...request.params, ...(meta ? { _meta: { ...meta, progressToken: id } } : { _meta: { progressToken: number } }) };
    server.send({ id, method: request.method, params });
    await server.answer(id);
  }
}

async function end(server) {
  server.child.stdin.end();
  assert.equal((await server.ended).code, 0);
}

// A call that takes long enough to report progress; it runs beside the others.
const LONG = { id: 'long', method: 'tools/call', params: { name: 'run_bash', arguments: { command: 'sleep 5.5' } } };
const saw = (server, method) => () => server.lines.some((line) => JSON.parse(line).method === method);

async function legacy(t, revision) {
  const dir = makeWorkspace(t);
  fill(dir);
  const server = raw(t, ['mcp', dir]);
  server.send(initialize('i', revision));
  assert.equal((await server.answer('i')).result.protocolVersion, revision);
  server.send({ method: 'notifications/initialized' });
  server.send({ ...LONG, params: { ...LONG.params, _meta: { progressToken: 'long' } } });
  await goThrough(server, [...LEGACY, ...EVERYWHERE, ...(revision === '2025-11-25' ? TASKS : [])]);
  server.send({ id: 'subscribe', method: 'resources/subscribe', params: { uri: 'file:///workspace/a.txt' } });
  await server.answer('subscribe');
  writeFileSync(join(dir, 'a.txt'), 'changed\n');
  await until(saw(server, 'notifications/resources/updated'), 'the news');
  if (revision === '2025-11-25') {
    const task = (command) => ({ method: 'tools/call', params: { name: 'run_bash', arguments: { command }, task: { ttl: 60000 } } });
    server.send({ id: 'task', ...task('echo task') }, { id: 'cancelled', ...task('sleep 100') });
    const ids = await Promise.all(['task', 'cancelled'].map(async (id) => ({ taskId: (await server.answer(id)).result.task.taskId })));
    await goThrough(server, [{ method: 'tasks/get', params: ids[0] }, { method: 'tasks/result', params: ids[0] }, { method: 'tasks/list' },
      { method: 'tasks/cancel', params: ids[1] }]);
  }
  if (revision === '2025-03-26')
    server.child.stdin.write(`${JSON.stringify([{ jsonrpc: '2.0', id: 'b1', method: 'ping' }, { jsonrpc: '2.0', id: 'b2', method: 'tools/list' }])}\n`);
  server.child.stdin.write('not json\n');
  await server.answer('long');
  await end(server);
  const names = ['InitializeResult', 'EmptyResult', 'ListToolsResult', 'CallToolResult', 'ListResourcesResult', 'ListResourceTemplatesResult', 'ReadResourceResult',
    'ListPromptsResult', 'GetPromptResult', 'CompleteResult', 'LoggingMessageNotification', 'ProgressNotification', 'ResourceUpdatedNotification',
    revision < '2025-11-25' ? 'JSONRPCError' : 'JSONRPCErrorResponse'];
  if (revision === '2025-03-26') names.push('JSONRPCBatchResponse');
  if (revision === '2025-11-25') names.push('CreateTaskResult', 'GetTaskResult', 'ListTasksResult', 'GetTaskPayloadResult', 'CancelTaskResult');
  for (const name of names) assert.ok(seen.get(`${revision} ${name}`) > 0, `${revision}: no ${name} was seen`);
  assert.deepEqual(problems, []);
}

async function modern(t) {
  const dir = makeWorkspace(t);
  fill(dir);
  const server = raw(t, ['mcp', dir]);
  const meta = { ...META, 'io.modelcontextprotocol/logLevel': 'debug' };
  server.send({ ...LONG, params: { ...LONG.params, _meta: { ...META, progressToken: 'long' } } });
  await goThrough(server, [...MODERN_ONLY, ...EVERYWHERE], meta);
  server.send({ id: 'v', method: 'tools/list', params: { _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' } } });
  assert.equal((await server.answer('v')).error.code, -32022);
  server.send({ id: 'c', method: 'tools/list', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': MODERN } } });
  assert.equal((await server.answer('c')).error.code, -32602);
  server.send({ id: 'l', method: 'subscriptions/listen', params: { _meta: META, notifications: { resourceSubscriptions: ['file:///workspace/a.txt'] } } });
  await until(saw(server, 'notifications/subscriptions/acknowledged'), 'the acknowledgement');
  writeFileSync(join(dir, 'a.txt'), 'changed\n');
  await until(saw(server, 'notifications/resources/updated'), 'the news');
  await server.answer('long');
  await end(server);
  for (const name of ['DiscoverResult', 'ListToolsResult', 'CallToolResult', 'ListResourcesResult', 'ListResourceTemplatesResult', 'ReadResourceResult', 'ListPromptsResult',
    'GetPromptResult', 'CompleteResult', 'LoggingMessageNotification', 'ProgressNotification', 'JSONRPCErrorResponse', 'UnsupportedProtocolVersionError',
    'SubscriptionsAcknowledgedNotification', 'ResourceUpdatedNotification']) assert.ok(seen.get(`${MODERN} ${name}`) > 0, `no ${name} was seen`);
  assert.deepEqual(problems, []);
}

describe('everything that a revision has', { concurrency: true }, () => {
  for (const revision of REVISIONS) test(revision, (t) => (revision === MODERN ? modern(t) : legacy(t, revision)));
});

test('the check finds what is wrong', () => {
  const list = { tools: [{ name: 'x', inputSchema: { type: 'object' } }] };
  const wrong = [
    // revision, request, answer
    ['2024-11-05', { method: 'tools/call' }, { content: [{ type: 'audio', data: '', mimeType: 'audio/wav' }] }],
    ['2024-11-05', { method: 'server/discover' }, {}],
    ['2025-03-26', { method: 'tools/list' }, { tools: [{ name: 'x' }] }],
    ['2025-06-18', { method: 'tools/list' }, { ...list, nextCursor: null }],
    ['2025-06-18', { method: 'resources/read' }, { contents: [{ uri: 'x:y' }] }],
    ['2025-11-25', { method: 'tools/call', params: { task: {} } }, { content: [] }],
    ['2025-11-25', { method: 'prompts/get' }, { messages: [{ role: 'system', content: { type: 'text', text: '' } }] }],
    [MODERN, { method: 'tools/list' }, { ...list, resultType: 'complete', cacheScope: 'public' }],
    [MODERN, { method: 'tools/list' }, { ...list, ttlMs: 0, cacheScope: 'public' }],
    [MODERN, { method: 'initialize' }, { protocolVersion: MODERN, capabilities: {}, serverInfo: { name: 'x', version: '1' } }],
  ];
  for (const [revision, request, result] of wrong) {
    const found = [];
    const session = new Session(() => {}, (problem) => found.push(problem));
    session.negotiated = revision;
    const params = { ...request.params, ...(revision === MODERN ? { _meta: META } : {}) };
    session.sent({ jsonrpc: '2.0', id: 1, ...request, params });
    session.received({ jsonrpc: '2.0', id: 1, result });
    assert.ok(found.length > 0, `${revision} takes ${JSON.stringify(result)} for ${request.method}`);
  }
  const found = [];
  const session = new Session(() => {}, (problem) => found.push(problem));
  session.received({ jsonrpc: '2.0', id: 'x', result: {} });
  session.received({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1 } });
  session.received({ jsonrpc: '2.0', method: 'notifications/nonsense' });
  session.received({ jsonrpc: '2.0', id: 1, error: { code: 'x', message: '' } });
  session.sent({ jsonrpc: '2.0', id: 2, method: 'ping' });
  session.received({ jsonrpc: '2.0', id: 2, result: {} });
  assert.equal(found.length, 4, found.join('\n'));
  session.received({ jsonrpc: '2.0', id: 2, result: {} });
  assert.equal(found.length, 5, 'a second answer is wrong');
  assert.deepEqual(Object.keys(revisions()), REVISIONS);
});
