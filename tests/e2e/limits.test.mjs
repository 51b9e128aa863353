// Limits as a client sees them: arguments of a call, figures in _meta, and what the model reads. Exact or approximate, as this host can.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bad, bash, connect, contains, good, lacks, makeWorkspace } from './lib.mjs';

const MIB = 1 << 20;
const options = ['--memory', '256m', '--pids-limit', '64', '--cpus', '1', '--tmpfs', '/tmp:size=8m', '--ulimit', 'nofile=200:200'];
const fill = (mib) => `python3 -c 'x = bytearray(${mib} << 20); import time; time.sleep(2)'`;
const metricsOf = ({ result }) => result._meta['cloche/metrics'];

test('limits', async (t) => {
  const client = await connect(t, makeWorkspace(t), { options });
  const run = (command, more = {}) => client.call('run_bash', { command, timeout: 60, ...more });

  await t.test('the arguments are offered, all optional', async () => {
    const { tools } = await client.listTools();
    const { inputSchema } = tools.find((tool) => tool.name === 'run_bash');
    assert.deepEqual(inputSchema.required, ['command']);
    for (const name of ['memory', 'cpus', 'pids']) assert.ok(inputSchema.properties[name]?.description, name);
  });
  await t.test('figures of a command', async () => {
    const metrics = metricsOf(await run('head -c 30M /dev/zero | tail -c 20M | wc -c; sleep 0.5; exit 4'));
    assert.equal(metrics.exit_status, 4);
    assert.ok(['exact', 'approximate'].includes(metrics.measured), metrics.measured);
    assert.deepEqual(metrics.limits.memory, 256 * MIB);
    assert.deepEqual(metrics.limits.cpus, 1);
    assert.ok(metrics.limits.pids > 0 && metrics.limits.pids <= 64, `${metrics.limits.pids}`);
    assert.ok(metrics.wall_ms >= 500 && metrics.wall_ms < 60000, `${metrics.wall_ms}`);
    for (const name of ['timed_out', 'oom_killed', 'truncated']) assert.equal(metrics[name], false, name);
    for (const [name, value] of Object.entries(metrics)) if (typeof value === 'number') assert.ok(Number.isInteger(value) && value >= 0, name);
  });
  await t.test('peaks of memory and processes', async () => {
    const { memory_peak: memory, processes_peak: processes } = metricsOf(await run(`${fill(100)} & sleep 2 & sleep 2 & wait`));
    assert.ok(memory > 95 * MIB && memory < 160 * MIB, `${memory}`);
    assert.ok(processes >= 4 && processes <= 6, `${processes}`);
  });
  await t.test('less memory for a call', async () => {
    const answer = await run(`echo before; ${fill(150)}; echo not reached`, { memory: '64m' });
    assert.ok(answer.isError, answer.text);
    contains(answer.text, /^\[Exit code: -9\]\n\[Limit of the sandbox: killed: used (about )?\d+ MiB of 64 MiB of memory, the limit of this call \(its argument memory\)\. .*at most 256 MiB; .*--memory of cloche\)\.\]\nbefore\n$/);
    const metrics = metricsOf(answer);
    assert.equal(metrics.oom_killed, true);
    assert.equal(metrics.signal, 9);
    assert.equal(metrics.limits.memory, 64 * MIB);
    lacks(await good(client, 'run_bash', { command: fill(150) }), '[Limit');
  });
  await t.test('all memory of the sandbox', async () => {
    const text = await bad(client, 'run_bash', { command: fill(600), timeout: 60 }, 'of 256 MiB of memory, the limit of this sandbox. ', 'option --memory of cloche');
    lacks(text, 'the argument memory');
  });
  await t.test('another SIGKILL is not for memory', async () => {
    const answer = await run('kill -9 $$');
    assert.equal(answer.text, '[Exit code: -9]');
    assert.equal(answer.isError, false);
    assert.equal(metricsOf(answer).oom_killed, false);
  });
  await t.test('too many processes', async () => {
    // A shell gives up at the first refusal; another one stays, so that init can see as many as there may be.
    const { text } = await run('sleep 1 & s=$!; (i=0; while [ $i -lt 100 ]; do sleep 3 & i=$((i+1)); done); wait $s; exit 3');
    contains(text, /^\[Exit code: 3\]\n/);
    contains(text, /\n\[Limit of the sandbox: (new processes or threads were|a process or thread) .*: there may be \d+ at once, .*option --pids-limit of cloche\)\.\]/);
  });
  await t.test('fewer processes for a call', async () => {
    const answer = await run('for i in $(seq 40); do sleep 1 & done; wait', { pids: 12 });
    assert.equal(metricsOf(answer).limits.pids, 12);
    lacks(answer.text, '[Exit code: 0]');
    contains(answer.text, 'there may be 12 at once, the limit of this call (its argument pids). ');
    assert.equal(await bash(client, 'for i in $(seq 40); do sleep 1 & done; wait; echo all'), 'all\n');
  });
  await t.test('less CPU time for a call', async () => {
    const answer = await run('python3 -c "import time; e = time.monotonic() + 3\nwhile time.monotonic() < e: pass"', { cpus: '0.1' });
    const metrics = metricsOf(answer);
    assert.equal(metrics.limits.cpus, 0.1);
    const used = (metrics.cpu_user_ms + metrics.cpu_system_ms) / metrics.wall_ms;
    assert.ok(used < 0.4, `${used} CPUs`);
    assert.ok(metrics.throttled_ms > 0, `${metrics.throttled_ms} of ${metrics.wall_ms}`);
    // On a busy machine it may wait for other reasons most of the time: then nothing is said.
    if (metrics.throttled_ms > metrics.wall_ms / 2 + 1)
      contains(answer.text, /^\[Exit code: 0\]\n\n\[Limit of the sandbox: held back .* 0\.1 CPUs, the limit of this call \(its argument cpus\)\. .*--cpus of cloche\)\.\]$/);
    else assert.equal(answer.text, '[Exit code: 0]');
  });
  await t.test('more than the sandbox has is cut, and said', async () => {
    const answer = await run('echo x', { memory: '8g', cpus: 16, pids: 5000 });
    const { limits } = metricsOf(answer);
    assert.deepEqual([limits.memory, limits.cpus], [256 * MIB, 1]);
    assert.ok(limits.pids <= 64, `${limits.pids}`);
    contains(answer.text, /^\[Exit code: 0\]\nx\n\n\[Limit of the sandbox: memory 8192 MiB was asked for, but is more than the sandbox has: it ran with 256 MiB\.\]\n/);
    contains(answer.text, 'cpus 16 was asked for');
    contains(answer.text, 'pids 5000 was asked for');
  });
  await t.test('what is no limit is refused', async () => {
    for (const memory of ['much', '-1', '0', '5m', '', true, 1.5, []]) await bad(client, 'run_bash', { command: 'true', memory }, 'memory');
    for (const cpus of ['many', 0, -1, []]) await bad(client, 'run_bash', { command: 'true', cpus }, 'cpus');
    for (const pids of ['all', 0, -5, 1.5]) await bad(client, 'run_bash', { command: 'true', pids }, 'pids');
    assert.equal(metricsOf(await run('true', { memory: String(64 * MIB), cpus: '0.5', pids: '20' })).limits.memory, 64 * MIB);
    assert.equal(metricsOf(await run('true', { memory: 64 * MIB, cpus: null, pids: null })).limits.memory, 64 * MIB);
  });
  await t.test('a full folder in memory', async () => {
    const text = await good(client, 'run_bash', { command: 'head -c 20M /dev/zero >/tmp/x' }, '[Exit code: 1]', '[Limit of the sandbox: /tmp is full: it is in memory and can hold 8 MiB. ', '--tmpfs /tmp:size=SIZE');
    lacks(text, '/dev/shm');
    contains(await good(client, 'run_bash', { command: 'rm /tmp/x; head -c 20M /dev/zero >/tmp/x || { rm /tmp/x; exit 1; }' }), 'no space left on a device. Folders in memory have sizes: ');
    lacks(await good(client, 'run_bash', { command: 'exit 1' }), '[Limit');
  });
  await t.test('too many open files', async () => {
    const text = await good(client, 'run_bash', { command: 'python3 -c "f = [open(\'/dev/null\') for i in range(500)]"' }, '[Exit code: 1]');
    contains(text, /\n\[Limit of the sandbox: too many open files: each process may have 200\. .*--ulimit nofile=/);
  });
  await t.test('nothing is said of what went well', async () => {
    assert.equal(await bash(client, 'seq 3 | wc -l'), '3\n');
  });
});

test('a session without limits', async (t) => {
  const client = await connect(t, makeWorkspace(t), { options: ['--memory', '0', '--pids-limit', '-1'] });
  const { limits } = metricsOf(await client.call('run_bash', { command: 'true' }));
  assert.deepEqual(limits, {});
  const answer = await client.call('run_bash', { command: fill(150), memory: '64m' });
  contains(answer.text, 'of 64 MiB of memory, the limit of this call (its argument memory). ');
  assert.equal(metricsOf(answer).limits.memory, 64 * MIB);
});
