/** Hooks: commands of the settings that run before and after a tool call and at the end of a turn. Real processes. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { trust } from '../../src/coder/settings/index.ts';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { calls, done, lastCall, shell, talk } from './checked-talk.ts';
import { makePlace, outline, type StartOptions } from './support.ts';
import { heard, settings, writes } from './talk.ts';

/** Starts a conversation with these hooks, in the mode yolo unless told. */
async function withHooks(
  t: TestContext,
  hooks: object,
  script: readonly ScriptedResponse[],
  more: StartOptions & { readonly policy?: readonly object[] } = {},
) {
  const { policy, ...start } = more;
  const place = makePlace(t);
  settings(place, { hooks, ...(policy && { policy }) });
  const notices: string[] = [];
  const notify = (notice: { text: string }) => void notices.push(notice.text);
  const session = await talk(t, script, { place, mode: 'yolo', notify, ...start });
  /** The input that a hook has stored with `cat > NAME`. */
  const stored = (name: string): Record<string, unknown> =>
    JSON.parse(readFileSync(session.at(name), 'utf8')) as Record<string, unknown>;
  return { ...session, notices, stored };
}

test('a hook gets the call as JSON before it runs, and its result afterwards', async (t) => {
  const hooks = {
    beforeTool: [{ tool: 'run_shell_*', command: 'cat > before.json; test ! -e made' }],
    afterTool: [{ tool: 'run_shell_command', command: 'test -e made && cat > after.json' }],
  };
  const { say, stored, notices, place } = await withHooks(t, hooks, [shell('touch made'), done]);
  await say('go');
  const before = stored('before.json');
  assert.deepEqual(
    [before['event'], before['tool'], before['arguments'], before['workspace']],
    ['beforeTool', 'run_shell_command', { command: 'touch made' }, place.workspace],
  );
  assert.equal(typeof before['session'], 'string');
  assert.equal(typeof before['callId'], 'string');
  const after = stored('after.json');
  assert.deepEqual([after['event'], after['failed']], ['afterTool', false]);
  assert.match(JSON.stringify(after['result']), /exit_code|output/);
  assert.deepEqual(notices, []);
});

test('exit code 2 refuses the call, and the model gets the standard error as the reason', async (t) => {
  const hooks = { beforeTool: [{ tool: 'write_file', command: 'echo "no secrets" >&2; exit 2' }] };
  const { say, at, requests, seen } = await withHooks(t, hooks, [writes('a', 'a'), done]);
  const events = await say('go');
  assert.equal(existsSync(at('a')), false);
  assert.equal(lastCall(events).error?.message, 'a hook refused this call: no secrets');
  assert.equal(lastCall(events).error?.type, 'denied');
  assert.match(heard(requests[1]), /a hook refused this call: no secrets/);
  assert.deepEqual(seen.ends, ['completed']);
});

test('a hook cannot allow what a person must, and is not asked again after the person has answered', async (t) => {
  const hooks = { beforeTool: [{ command: 'echo x >> count; exit 0' }] };
  const { say, answer, at } = await withHooks(t, hooks, [shell('touch made'), done], {
    mode: 'ask',
  });
  assert.equal(outline((await say('go')).at(-1)!), 'STATE_CHANGE input-required final');
  assert.equal(existsSync(at('made')), false);
  assert.equal(readFileSync(at('count'), 'utf8'), 'x\n');
  await answer('proceed_once');
  assert.ok(existsSync(at('made')));
  assert.equal(readFileSync(at('count'), 'utf8'), 'x\n');
});

test('a call that a rule denies runs no hook', async (t) => {
  const policy = [{ tool: 'run_shell_command', decision: 'deny' }];
  const hooks = { beforeTool: [{ command: 'touch ran' }] };
  const { say, at } = await withHooks(t, hooks, [shell('touch made'), done], { policy });
  await say('go');
  assert.equal(existsSync(at('ran')), false);
});

test('a hook sees the content that a person has put in the place of the proposed one', async (t) => {
  const command =
    'cat > seen.json; grep -q newContent seen.json && { echo "not yours" >&2; exit 2; }; exit 0';
  const hooks = { beforeTool: [{ command }] };
  const { say, answer, at, stored } = await withHooks(t, hooks, [writes('a', 'old'), done], {
    mode: 'ask',
  });
  await say('go');
  const events = await answer('modify', { file_details: { new_content: 'new' } });
  assert.equal(stored('seen.json')['newContent'], 'new');
  assert.match(lastCall(events).error?.message ?? '', /not yours/);
  assert.equal(existsSync(at('a')), false);
});

test('what a hook says after a call goes to the model with the result', async (t) => {
  const hooks = {
    afterTool: [{ tool: 'write_file', command: 'echo "line 1 is too long" >&2; exit 2' }],
  };
  const { say, at, requests, notices, seen } = await withHooks(t, hooks, [writes('a', 'a'), done]);
  await say('go');
  assert.equal(readFileSync(at('a'), 'utf8'), 'a');
  assert.equal(seen.lifeOf('write_file'), 'PENDING EXECUTING SUCCEEDED');
  assert.match(heard(requests[1]), /line 1 is too long/);
  assert.deepEqual(notices, ['A hook after write_file says: line 1 is too long']);
});

test('a hook that fails, hangs, floods or is missing is reported, and the call continues', async (t) => {
  const hooks = {
    beforeTool: [
      { command: 'echo broken >&2; exit 1' },
      // Long enough for a shell to start on a busy machine.
      { command: 'echo $$ > pid; sleep 1000', timeoutMs: 1500 },
      { command: 'yes' },
      { command: './no-such-hook' },
    ],
  };
  const { say, at, notices } = await withHooks(t, hooks, [writes('a', 'a'), done]);
  await say('go');
  assert.equal(readFileSync(at('a'), 'utf8'), 'a');
  assert.deepEqual(notices.slice(0, 3), [
    'The beforeTool hook "echo broken >&2; exit 1" failed: exit code 1: broken',
    'The beforeTool hook "echo $$ > pid; sleep 1000" failed: it took longer than 1500 ms',
    'The beforeTool hook "yes" failed: it wrote more than 1 MB',
  ]);
  assert.match(notices[3]!, /"\.\/no-such-hook" failed: exit code 127: .*No such file/);
  const pid = Number(readFileSync(at('pid'), 'utf8'));
  assert.throws(() => process.kill(pid, 0), 'it is killed');
});

test('a required hook that fails refuses the call', async (t) => {
  const hooks = { beforeTool: [{ command: 'exit 1', required: true }] };
  const { say, at, requests } = await withHooks(t, hooks, [writes('a', 'a'), done]);
  await say('go');
  assert.equal(existsSync(at('a')), false);
  assert.match(heard(requests[1]), /a hook refused this call: a required hook failed/);
});

test('a hook applies to the calls of helpers, and learns their name', async (t) => {
  const hooks = { beforeTool: [{ tool: 'write_file', command: 'cat > seen.json' }] };
  const script = [calls('task', { prompt: 'Write.' }), writes('a', 'a'), done, done];
  const { say, stored } = await withHooks(t, hooks, script);
  await say('go');
  assert.equal(stored('seen.json')['helper'], 'helper');
});

test('a hook does not get keys of models', async (t) => {
  process.env['OPENAI_COMPATIBLE_API_KEY'] = 'secret';
  t.after(() => delete process.env['OPENAI_COMPATIBLE_API_KEY']);
  const hooks = { beforeTool: [{ command: 'env > seen' }] };
  const { say, at } = await withHooks(t, hooks, [writes('a', 'a'), done]);
  await say('go');
  assert.doesNotMatch(readFileSync(at('seen'), 'utf8'), /OPENAI_COMPATIBLE_API_KEY/);
});

test('with exit code 2 at the end of a turn, the agent continues with the reason as its task', async (t) => {
  const command = 'cat > end.json; test -e fixed || { echo "the tests fail" >&2; exit 2; }';
  const { say, stored, requests, seen } = await withHooks(t, { afterTurn: [{ command }] }, [
    [{ text: 'I am done.' }],
    shell('touch fixed'),
    [{ text: 'Now I am.' }],
  ]);
  await say('go');
  assert.match(heard(requests[1]), /I am done\..*the tests fail/);
  const { event, outcome, text } = stored('end.json');
  assert.deepEqual([event, outcome, text], ['afterTurn', 'done', 'Now I am.']);
  assert.deepEqual(seen.ends, ['completed']);
});

test('a hook that always refuses the end of a turn does not keep the agent busy for ever', async (t) => {
  const hooks = { afterTurn: [{ command: 'echo x >> count; echo again >&2; exit 2' }] };
  const { say, requests, seen } = await withHooks(t, hooks, [done, done, done, done]);
  await say('go');
  assert.equal(requests.length, 4);
  assert.deepEqual(seen.ends, ['completed']);
});

test('the end of a failed turn is reported too', async (t) => {
  const hooks = { afterTurn: [{ command: 'cat > end.json' }] };
  const script: ScriptedResponse[] = [[{ error: { status: 400, message: 'no' } }]];
  const { say, stored } = await withHooks(t, hooks, script);
  await say('go');
  assert.equal(stored('end.json')['outcome'], 'failed');
});

test('hooks of a workspace that is not trusted run nothing, and those of a trusted one come last', async (t) => {
  const place = makePlace(t);
  settings(place, { hooks: { beforeTool: [{ command: 'echo mine >> order' }] } });
  mkdirSync(join(place.workspace, '.parley'));
  const theirs = { hooks: { beforeTool: [{ command: 'echo theirs >> order' }] } };
  const file = join(place.workspace, '.parley', 'settings.json');
  writeFileSync(file, JSON.stringify(theirs));
  const order = (): string => readFileSync(join(place.workspace, 'order'), 'utf8');
  const first = await talk(t, [writes('a', 'a'), done], { place, mode: 'yolo' });
  await first.say('go');
  assert.equal(order(), 'mine\n');
  await first.stop();
  await trust(join(place.home, 'config'), place.workspace);
  const second = await talk(t, [writes('b', 'b'), done], { place, mode: 'yolo' });
  await second.say('go');
  assert.equal(order(), 'mine\nmine\ntheirs\n');
});
