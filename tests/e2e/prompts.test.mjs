// Prompts and completion as official clients see them, in a real sandbox; and whether the guide for agents tells the truth about it.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as TransportV2 } from '@modelcontextprotocol/client/stdio';
import { bash, connect, contains, good, lacks, makeWorkspace, serverParameters } from './lib.mjs';

const PROMPTS = ['cloche', 'explore', 'fix-tests', 'review-changes', 'write-tests'];

async function guideOf(client) {
  const { messages } = await client.getPrompt({ name: 'cloche' });
  assert.equal(messages.length, 1);
  assert.equal(messages[0].role, 'user');
  return messages[0].content.text;
}

function makeProject(t) {
  const dir = makeWorkspace(t);
  mkdirSync(join(dir, 'src', 'deep'), { recursive: true });
  mkdirSync(join(dir, '.hidden'));
  writeFileSync(join(dir, 'src', 'main.c'), '');
  symlinkSync('/etc', join(dir, 'src', 'outside'));
  return dir;
}

async function checkPrompts(client) {
  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((p) => p.name), PROMPTS);
  contains(await guideOf(client), '/workspace');
  for (const name of PROMPTS.slice(1)) {
    const { description, messages } = await client.getPrompt({ name, arguments: name === 'write-tests' ? { path: 'src' } : {} });
    assert.equal(description, prompts.find((p) => p.name === name).description);
    assert.ok(messages[0].content.text.length > 200);
  }
  await assert.rejects(client.getPrompt({ name: 'write-tests' }), (error) => error.code === -32602 && /"path"/.test(error.message));
  await assert.rejects(client.getPrompt({ name: 'nope' }), (error) => error.code === -32602 && /explore/.test(error.message));
}

async function checkCompletion(client) {
  const values = async (value, ref = { type: 'ref/prompt', name: 'explore' }) => {
    const { completion } = await client.complete({ ref, argument: { name: 'path', value } });
    assert.equal(completion.total, completion.values.length);
    assert.equal(completion.hasMore, false);
    return completion.values;
  };
  // Protected names that do not exist have empty stand-ins while a sandbox runs: they are not proposed, and neither is .git.
  assert.deepEqual(await values(''), ['.hidden/', 'src/']);
  assert.deepEqual(await values('src/'), ['src/deep/', 'src/main.c', 'src/outside']);
  assert.deepEqual(await values('/workspace/src/m'), ['/workspace/src/main.c']);
  assert.deepEqual(await values('src/m', { type: 'ref/resource', uri: 'file:///workspace/{+path}' }), ['src/main.c']);
  for (const outside of ['src/outside/', '/etc/', '../']) assert.deepEqual(await values(outside), []);
}

test('SDK v1: prompts, completion, introduction', async (t) => {
  const client = await connect(t, makeProject(t));
  await checkPrompts(client);
  await checkCompletion(client);
  const { icons } = client.getServerVersion();
  assert.equal(icons.length, 1);
  assert.match(icons[0].src, /^data:image\/png;base64,/);
  const uris = client.getInstructions().match(/\b[a-z]+:\/\/[^\s;,]*[^\s;,.]/g);
  assert.deepEqual(uris, ['skill://cloche/SKILL.md', 'cloche://policy']);
  for (const uri of uris) assert.equal((await client.readResource({ uri })).contents[0].uri, uri, 'the instructions name it');
  assert.deepEqual(client.errors, [], 'nothing on the stream that the client did not understand');
});

for (const mode of ['legacy', 'auto', { pin: '2026-07-28' }]) {
  test(`SDK v2, ${JSON.stringify(mode)}: prompts and completion`, async (t) => {
    const client = new ClientV2({ name: 'cloche-e2e', version: '1' }, { versionNegotiation: { mode } });
    const { mark: _, ...parameters } = serverParameters(makeProject(t));
    t.after(() => client.close());
    await client.connect(new TransportV2(parameters));
    await checkPrompts(client);
    await checkCompletion(client);
  });
}

test('what the guide says about limits holds', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  const guide = await guideOf(client);
  const { result } = await client.call('run_bash', { command: 'true' });
  const { memory, pids } = result._meta['cloche/metrics'].limits;
  const gib = Number(/\| memory of all commands together \| (\d+) GiB \|/.exec(guide)[1]);
  assert.equal(memory, gib * 2 ** 30, `the guide says ${gib} GiB`);
  const processes = Number(/\| processes of a command \| (\d+) \|/.exec(guide)[1]);
  assert.equal(pids, processes, `the guide says ${processes} processes`);
});

test('what the guide says about the place holds', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  const guide = await guideOf(client);
  // "cd and variables do not carry over", "all processes end with their call"
  await bash(client, 'cd /tmp; export KEPT=1; sleep 1234 & echo $! >/workspace/pid');
  assert.equal(await bash(client, 'pwd; echo "[$KEPT]"; kill -0 $(cat pid) 2>/dev/null && echo alive || echo gone'), '/workspace\n[]\ngone\n');
  // "/tmp and /home/agent can be written"
  assert.equal(await bash(client, 'echo x >/tmp/a && echo y >/home/agent/b && cat /tmp/a /home/agent/b'), 'x\ny\n');
  assert.equal(await bash(client, 'cat /tmp/a'), 'x\n', 'it is there for the next call of the session');
  assert.equal(await bash(client, 'whoami; touch /usr/x 2>/dev/null || echo refused'), 'agent\nrefused\n');
  // each protected path that it names
  const named = /Among\s+them are (.*?)\.\n?\s+Do not/s.exec(guide)[1].match(/`[^`]+`/g).map((word) => word.slice(1, -1));
  assert.ok(named.length >= 4, named.join(' '));
  for (const path of named.filter((word) => !word.includes('/')))
    lacks(await good(client, 'run_bash', { command: `mkdir -p ${path}/x && echo made` }), 'made');
  // localhost works within one command
  const server = 'python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & sleep 1; python3 -c "import urllib.request as u; print(u.urlopen(\'http://localhost:8123\').status)"';
  assert.equal(await bash(client, server), '200\n');
});
