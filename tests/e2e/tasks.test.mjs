// Calls that outlive their request, with the official clients: tasks of 2025-11-25 (SDK v1 and the extension's own package) and the
// extension io.modelcontextprotocol/tasks of 2026-07-28.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withTasks, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { allGone, connect, contains, initialize, makeWorkspace, processes, raw, serverParameters, sleep, until } from './lib.mjs';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'cloche-e2e', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { extensions: { [EXTENSION]: {} } },
};

// A number that stands in the command line of one process of the sandbox, which the host sees too.
let words = 0;
const newWord = () => `${86400 + (words += 1)}.${process.pid}${Date.now() % 100000}`;

// What the extension's client needs of a connection, over the raw pipes of `cloche mcp`.
async function taskSession(t, generation) {
  const server = raw(t, ['mcp', makeWorkspace(t)]);
  const meta = generation === 'v2' ? { _meta: META } : {};
  let id = 0;
  const dispatch = async (request) => {
    const mine = `${generation}-${id += 1}`;
    server.send({ ...request, id: mine, params: { ...request.params, ...meta } });
    const { result, error } = await server.answer(mine);
    return error ? { kind: 'error', error } : { kind: 'result', result };
  };
  server.send(generation === 'v2' ? { id: 'begin', method: 'server/discover', params: meta } : initialize('begin'));
  const { capabilities } = (await server.answer('begin')).result;
  server.send({ method: 'notifications/initialized' });
  const port = {
    endpointId: 'cloche-e2e',
    invalidated: false,
    taskCapabilities: { generation, capabilities: generation === 'v2' ? capabilities.extensions[EXTENSION] : capabilities.tasks },
    dispatch,
    onServerRequest: () => () => {},
    onNotification: () => () => {},
    onInvalidated: () => () => {},
  };
  const session = withTasks(port, { tools: { currentTool: (name) => ({ name, inputSchema: { type: 'object' }, taskSupport: 'optional' }) } });
  t.after(() => session.close());
  return { server, session };
}

test('SDK v1: a tool that runs as a task', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  await client.listTools();
  const stream = client.experimental.tasks.callToolStream(
    { name: 'run_bash', arguments: { command: 'echo begun; sleep 2; echo done; exit 7' } }, CallToolResultSchema, { task: { ttl: 90000 } });
  const seen = [];
  for await (const message of stream) seen.push(message);
  assert.equal(seen[0].type, 'taskCreated', JSON.stringify(seen));
  assert.equal(seen[0].task.ttl, 90000);
  assert.ok(seen.some((m) => m.type === 'taskStatus'), JSON.stringify(seen));
  const last = seen.at(-1);
  assert.equal(last.type, 'result', JSON.stringify(last));
  assert.equal(last.result.content[0].text, '[Exit code: 7]\nbegun\ndone\n');
  const { tasks } = await client.experimental.tasks.listTasks();
  assert.deepEqual(tasks.map((task) => [task.taskId, task.status]), [[seen[0].task.taskId, 'completed']]);
});

test('SDK v1: a task that is cancelled', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  const [parent, child] = [newWord(), newWord()];
  await client.listTools();
  const stream = client.experimental.tasks.callToolStream(
    { name: 'run_bash', arguments: { command: `(sh -c 'sleep ${child}; :' &) ; sleep ${parent}` } }, CallToolResultSchema, { task: {} });
  const { task } = (await stream.next()).value;
  await until(() => processes(parent).length > 0 && processes(child).length > 0, 'the command runs');
  const begin = performance.now();
  assert.equal((await client.experimental.tasks.cancelTask(task.taskId)).status, 'cancelled');
  await allGone(parent);
  await allGone(child);
  t.diagnostic(`everything was dead ${(performance.now() - begin).toFixed(0)} ms after tasks/cancel was sent`);
  const result = await client.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
  assert.equal(result.isError, true);
  await assert.rejects(client.experimental.tasks.cancelTask(task.taskId), /ended already/);
  await stream.return();
});

test('an ordinary call that is cancelled', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  const [parent, child] = [newWord(), newWord()];
  const abort = new AbortController();
  const call = client.call('run_bash', { command: `(setsid sh -c 'sleep ${child}; :' &) ; sleep ${parent}` }, { signal: abort.signal });
  await until(() => processes(parent).length > 0 && processes(child).length > 0, 'the command runs');
  const begin = performance.now();
  abort.abort();
  await assert.rejects(call);
  await allGone(parent);
  await allGone(child);
  t.diagnostic(`everything was dead ${(performance.now() - begin).toFixed(0)} ms after the cancellation was sent`);
});

for (const generation of ['v1', 'v2']) {
  test(`the extension's client, ${generation}: a slow call is a task, a quick one is not`, async (t) => {
    const { session } = await taskSession(t, generation);
    const slow = await session.callTool('run_bash', { command: 'echo begun; sleep 6; echo done' }, { task: { preference: 'prefer' } });
    assert.equal(slow.kind, 'task');
    const { outcome, lastTask } = await slow.settle();
    assert.equal(resultFromTaskOutcome(outcome).content[0].text, '[Exit code: 0]\nbegun\ndone\n');
    assert.equal(lastTask.status, 'completed');
    const quick = await session.callTool('run_bash', { command: 'echo quick' }, { task: { preference: 'forbid' } });
    assert.equal(quick.kind, 'immediate');
    contains(resultFromTaskOutcome((await quick.settle()).outcome).content[0].text, 'quick');
  });
  test(`the extension's client, ${generation}: a task that is cancelled`, async (t) => {
    const { session } = await taskSession(t, generation);
    const word = newWord();
    const execution = await session.callTool('run_bash', { command: `sleep ${word}` }, { task: { preference: 'prefer' } });
    assert.equal(execution.kind, 'task');
    await until(() => processes(word).length > 0, 'the command runs');
    await execution.cancel();
    await allGone(word);
    assert.equal((await session.task(execution.handle.taskId).snapshot()).status, 'cancelled');
    await assert.rejects(session.task('00000000000000000000000000000000').snapshot(), /no task/);
  });
}

test('the output of a task while it runs', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  const read = async (uri) => (await client.readResource({ uri })).contents[0].text;
  const { task } = await client.request(
    { method: 'tools/call', params: { name: 'run_bash', arguments: { command: 'echo one; while ! [ -e go ]; do sleep 0.05; done; echo two' }, task: {} } },
    CreateTaskResultSchema);
  const uri = `cloche://jobs/${task.taskId}/output`;
  await until(async () => (await read(uri)) === 'one\n', 'its first line');
  assert.deepEqual(JSON.parse(await read('cloche://jobs')).map(({ id, tool, status }) => ({ id, tool, status })),
    [{ id: task.taskId, tool: 'run_bash', status: 'working' }]);
  await client.call('write_file', { filepath: 'go', content: '' });
  await until(async () => (await read(uri)) === '[Exit code: 0]\none\ntwo\n', 'its end');
});

test('the end of the session ends its tasks', async (t) => {
  const word = newWord();
  const { args, env, mark } = serverParameters(makeWorkspace(t));
  const server = raw(t, args, env);
  server.send(initialize(1), { id: 2, method: 'tools/call', params: { name: 'run_bash', arguments: { command: `sleep ${word}` }, task: {} } });
  assert.equal((await server.answer(2)).result.task.status, 'working');
  await until(() => processes(word).length > 0, 'the command runs');
  await sleep(100);
  server.child.stdin.end();
  assert.deepEqual(await server.ended, { code: 0, signal: null });
  await allGone(word);
  await allGone(mark);
});
