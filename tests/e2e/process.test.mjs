// Commands as processes: side by side, cancelled, too slow, too loud, hostile. The session lives on, and nothing stays behind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allGone, bad, bash, connect, contains, good, makeWorkspace, newMark, processes, residentKib, sleep, until } from './lib.mjs';

// kB of memory of all processes of the session but its commands.
function memory(client) {
  return processes(client.mark).reduce((sum, line) => sum + residentKib(line), 0);
}

test('side by side', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  await good(client, 'write_file', { filepath: 'a.txt', content: 'x\n' });

  await t.test('a slow command delays nothing', async () => {
    const order = [];
    const slow = client.call('run_bash', { command: 'sleep 3; echo slow' }).then((r) => { order.push('slow'); return r; });
    await sleep(50);
    await Promise.all([
      client.call('read_file', { filepath: 'a.txt' }).then(() => order.push('read')),
      client.call('list_directory', {}).then(() => order.push('list')),
      client.call('search_workspace', { pattern: '*' }).then(() => order.push('search')),
      client.call('run_bash', { command: 'echo quick' }).then(() => order.push('quick')),
      client.ping().then(() => order.push('ping')),
    ]);
    contains((await slow).text, 'slow');
    assert.equal(order.length, 6);
    assert.equal(order[5], 'slow', order.join());
  });

  await t.test('thirty commands at once, each with its own answer', async () => {
    const begin = Date.now();
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => client.call('run_bash', { command: `sleep 0.5; echo answer ${i}` })));
    answers.forEach(({ text }, i) => assert.equal(text, `[Exit code: 0]\nanswer ${i}\n`));
    assert.ok(Date.now() - begin < 10000, 'they run side by side');
  });

  await t.test('two hundred small calls', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => client.call('read_file', i % 2 ? { filepath: 'a.txt' } : { filepath: `none${i}` })));
    answers.forEach(({ text }, i) => contains(text, i % 2 ? 'x' : `none${i}`));
  });
});

test('what a command leaves behind', async (t) => {
  const client = await connect(t, makeWorkspace(t));

  await t.test('a background process does not hold the call', async () => {
    const mark = newMark();
    const begin = Date.now();
    assert.equal(await bash(client, `sleep ${mark} & echo ok`), 'ok\n');
    assert.ok(Date.now() - begin < 5000);
    await allGone(mark);
  });
  for (const [name, command] of [
    ['setsid', (m) => `setsid sleep ${m} &`],
    ['nohup', (m) => `nohup sleep ${m} >/dev/null 2>&1 &`],
    ['a double fork', (m) => `( ( sleep ${m} & ) & );`],
    ['one that ignores signals', (m) => `sh -c 'trap "" TERM HUP INT; sleep ${m}; sleep ${m}' &`],
  ]) {
    await t.test(name, async () => {
      const mark = newMark();
      await bash(client, `${command(mark)} sleep 0.1; echo ok`);
      await allGone(mark);
      assert.equal(await bash(client, `cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep ${mark}' || true`), '1\n', 'only the search itself');
    });
  }
  await t.test('after a timeout the whole tree is gone', async () => {
    const mark = newMark();
    await bad(client, 'run_bash', { command: `setsid sleep ${mark} & sh -c 'sleep ${mark}' & sleep ${mark}`, timeout: 1 }, 'timed out after 1s');
    await allGone(mark);
  });
});

test('cancelling', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  const mark = newMark();
  const controller = new AbortController();
  const call = client.call('run_bash', { command: `setsid sleep ${mark} & sleep ${mark}` }, { signal: controller.signal });
  await until(() => processes(mark).length >= 3, 'the start of the command');
  controller.abort();
  await assert.rejects(call);
  await allGone(mark);
  assert.equal(await bash(client, 'echo alive'), 'alive\n');
  await sleep(300);
  assert.deepEqual(client.errors, [], 'no answer comes after a cancellation');
});

test('a client that gives up before the command does', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  const mark = newMark();
  await assert.rejects(client.call('run_bash', { command: `sleep ${mark}` }, { timeout: 700 }), /timed out/i);
  await allGone(mark);
  assert.equal(await bash(client, 'echo alive'), 'alive\n');
});

test('loud commands', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  await bash(client, 'true');
  const before = memory(client);

  await t.test('1 GiB of output', async () => {
    let most = 0;
    const timer = setInterval(() => { most = Math.max(most, memory(client)); }, 20);
    const text = await good(client, 'run_bash', { command: 'head -c 1073741824 /dev/zero | tr "\\0" x', timeout: 120 }, '[Exit code: 0]', 'output truncated at 39KB');
    clearInterval(timer);
    assert.ok(text.length <= 40000);
    assert.ok(most < before + 32 * 1024, `memory grew from ${before} to ${most} kB`);
  });
  await t.test('endless output, until the timeout', async () => {
    await bad(client, 'run_bash', { command: 'yes', timeout: 1 }, 'timed out after 1s');
  });
  await t.test('the beginning and the end are kept', async () => {
    const text = await bash(client, 'echo FIRST; seq 100000; echo LAST');
    contains(text, /^FIRST\n1\n2\n/);
    contains(text, /\n99999\n100000\nLAST\n$/);
  });
  await t.test('one byte at a time', async () => {
    const text = await bash(client, 'i=0; while [ $i -lt 300 ]; do printf x; i=$((i+1)); done');
    assert.equal(text, 'x'.repeat(300));
  });
});

test('hostile commands', async (t) => {
  const client = await connect(t, makeWorkspace(t), { options: ['--memory', '256m', '--shm-size', '16m'] });
  await good(client, 'write_file', { filepath: 'a.txt', content: 'still here\n' });
  const alive = async () => {
    assert.equal(await good(client, 'read_file', { filepath: 'a.txt' }), 'still here');
    assert.equal(await bash(client, 'echo alive'), 'alive\n');
  };

  await t.test('kill -9 -1 harms only itself', async () => {
    contains(await good(client, 'run_bash', { command: 'kill -9 -1; echo after' }), /^\[Exit code: (0|-9)\]/);
    await alive();
  });
  await t.test('and not another command', async () => {
    const other = client.call('run_bash', { command: 'sleep 1; echo unharmed' });
    await good(client, 'run_bash', { command: '(kill -9 -1); pkill -9 .; kill -9 1; kill -9 0' });
    contains((await other).text, 'unharmed');
  });
  await t.test('a fork bomb', async () => {
    const bomb = client.call('run_bash', { command: 'b() { b | b & }; b; sleep 30', timeout: 3 });
    await sleep(1000);
    const begin = Date.now();
    await good(client, 'read_file', { filepath: 'a.txt' }, 'still here');
    assert.ok(Date.now() - begin < 3000, 'reading goes on during the bomb');
    await bomb;
    await until(async () => (await client.call('run_bash', { command: 'echo alive' })).text.includes('alive'), 'recovery', 20000);
    await alive();
  });
  await t.test('a command that takes all descriptors', async () => {
    await good(client, 'run_bash', { command: 'ulimit -n $(ulimit -Hn); python3 -c "import os\nwhile True: os.dup(0)" 2>&1 | tail -1' });
    await alive();
  });
  for (const [what, command] of [
    ['private', 'head -c 2G /dev/zero | tail | wc -c'],
    ['in one piece', 'dd if=/dev/zero of=/dev/null bs=1G count=100'],
    ['shared by processes', 'python3 -c "import mmap, os\nm = mmap.mmap(-1, 1 << 30)\nfor i in range(3): os.fork()\nfor o in range(0, 1 << 30, 4096): m[o] = 1"'],
    ['in many small processes', 'for i in $(seq 40); do python3 -c "x = bytearray(30 << 20); import time; time.sleep(20)" & done; wait'],
    ['hidden from debuggers', 'python3 -c "import ctypes\nctypes.CDLL(None).prctl(4, 0)\nx = bytearray(1 << 30)\nimport time; time.sleep(20)"'],
  ])
    await t.test(`memory: a command that takes more than it may, ${what}`, async () => {
      const other = client.call('run_bash', { command: 'sleep 1; echo unharmed' });
      const { text, isError } = await client.call('run_bash', { command, timeout: 60 });
      assert.ok(isError, text);
      contains(text, /^\[Exit code: -9\]\n\[Limit of the sandbox: killed: (used (about )?\d+ MiB of 256 MiB of memory, the limit of this sandbox|all commands together used all of 256 MiB of memory, and this one itself (about )?\d+ MiB)\. /);
      contains(text, '--memory');
      contains((await other).text, 'unharmed');
      await alive();
    });
  await t.test('a full /dev/shm', async () => {
    const text = await good(client, 'run_bash', { command: 'head -c 64M /dev/zero >/dev/shm/x; rm /dev/shm/x' });
    contains(text, 'No space left');
    await alive();
  });
  await t.test('ptrace, mounts and namespaces are refused', async () => {
    for (const command of ['mount -t tmpfs x /tmp', 'umount /proc', 'unshare -Ur true', 'hostname x', 'mknod d c 1 3', 'cp /bin/sh s && chmod u+s s'])
      contains(await good(client, 'run_bash', { command }), /^\[Exit code: [^0]/);
  });
  await t.test('the server cannot be found, looked into or signalled', async () => {
    const text = await good(client, 'run_bash', { command: 'cat /proc/[0-9]*/comm; grep -l cloche /proc/[0-9]*/cmdline; ls /proc | grep -c "^[0-9]"; ls /proc/1; true' });
    assert.doesNotMatch(text, /cloche-(mcp|init)/);
    await alive();
  });
  await t.test('shell scripts of the workspace that a shell would read are not', async () => {
    for (const filepath of ['.profile', '.bashrc', '.zshenv', 'sitecustomize.py']) await good(client, 'write_file', { filepath, content: filepath.endsWith('.py') ? 'print("LOADED")\n' : 'echo LOADED\n' });
    assert.doesNotMatch(await bash(client, 'echo $0; python3 -c "pass"; bash -c :'), /LOADED/);
  });
  assert.deepEqual(client.errors, []);
});
