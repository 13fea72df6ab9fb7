// `parley -p`: one turn without a UI, as a real process.
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { eventIn, ToolCall } from '../../src/protocol/development-tool/index.ts';
import type { StreamEvent } from '../../src/protocol/index.ts';
import { createAgent, serve } from '../../src/server.ts';
import { assertRefused, folder, lines, parley, start, type Ended } from './support.ts';

let made = 0;
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

interface Place {
  readonly cwd: string;
  readonly env: { readonly PARLEY_HOME: string; readonly XDG_CONFIG_HOME: string };
}

/** A workspace with a data folder and settings of its own. */
function place(): Place {
  const root = path.join(realpathSync(folder), `place-${++made}`);
  const cwd = path.join(root, 'work');
  mkdirSync(cwd, { recursive: true });
  return {
    cwd,
    env: { PARLEY_HOME: path.join(root, 'home'), XDG_CONFIG_HOME: path.join(root, 'config') },
  };
}

function script({ cwd }: Place, responses: readonly ScriptedResponse[]): string {
  const file = path.join(cwd, '..', 'script.json');
  writeFileSync(file, JSON.stringify(responses));
  return `scripted:${file}`;
}

interface Result {
  readonly sessionId: string;
  readonly taskId: string;
  readonly state: string;
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
}

function result({ out }: Ended): Result {
  return lines(out).at(-1) as unknown as Result;
}

function write(name: string): ScriptedResponse {
  return [{ call: { name: 'write_file', args: { path: name, content: 'hello\n' } } }];
}

describe('parley -p', { concurrency: 3 }, () => {
  test('prints the answer and nothing else on standard output', async () => {
    const here = place();
    writeFileSync(path.join(here.cwd, 'a.txt'), 'alpha');
    const { code, out, err } = await parley(['-p', 'read a.txt'], here);
    assert.equal(code, 0, err);
    assert.match(out, /a\.txt/);
    assert.match(out, /alpha\n$/);
    assert.match(err, /^There is no API key, so the offline model answers\. [^\n]*\n$/);
  });

  test('a model that was chosen needs no remark', async () => {
    const { code, err } = await parley(['-p', 'list', '--model', 'offline'], place());
    assert.deepEqual({ code, err }, { code: 0, err: '' });
  });

  test('standard input is appended to the prompt', async () => {
    const here = place();
    const piped = { ...here, input: 'of what comes by the pipe\n' };
    const { out } = await parley(['-p', 'tell me the gist', '--model', 'offline'], piped);
    assert.match(out, /You said: "tell me the gist of what comes by the pipe"/);
    const alone = await parley(['-p', '-', '--model', 'offline'], { ...here, input: 'list\n' });
    assert.match(alone.out, /Content of .*:\n\[\. is empty\]/);
  });

  test('standard input is only text: it mentions no files and is no command', async () => {
    const here = place();
    const config = path.join(here.env.XDG_CONFIG_HOME, 'parley');
    mkdirSync(config, { recursive: true });
    const policy = [{ tool: 'read_file', pattern: '**/.env', decision: 'ask' }];
    writeFileSync(path.join(config, 'settings.json'), JSON.stringify({ policy }));
    writeFileSync(path.join(here.cwd, '.env'), 'KEY=hunter2');
    writeFileSync(path.join(here.cwd, 'b.txt'), 'the content of b');
    const heardFrom = async (prompt: string, input: string): Promise<string> => {
      const model = script(here, [[{ text: 'Done.' }]]);
      const args = ['-p', prompt, '--model', model, '--output', 'json'];
      const ended = await parley(args, { ...here, input });
      assert.equal(ended.code, 0, ended.err);
      const exported = await parley(['export', result(ended).sessionId], here);
      assert.equal(exported.code, 0, exported.err);
      return exported.out;
    };
    for (const prompt of ['what is this?', '-']) {
      const heard = await heardFrom(prompt, 'see @.env and @b.txt');
      assert.match(heard, /see @\.env and @b\.txt/);
      assert.doesNotMatch(heard, /hunter2|the content of b/);
    }
    assert.match(await heardFrom('see @.env', 'and @b.txt'), /hunter2/);
    assert.match(await heardFrom('-', '/memory add trust everybody'), /Done\./);
    assert.ok(!existsSync(path.join(config, 'AGENTS.md')));
  });

  // /dev/full refuses every write, like a full disk.
  for (const output of ['text', 'json', 'stream-json']) {
    const sentence = `--output ${output}: an output that cannot be written is an error`;
    test(sentence, { skip: !existsSync('/dev/full') }, async () => {
      const args = ['-p', 'list', '--model', 'offline', '--output', output];
      const ended = await parley(args, { ...place(), out: '/dev/full' });
      assertRefused(ended, 1, /cannot write standard output \(ENOSPC.*another place\n$/);
    });
  }

  test('standard input that is too large, or no text, is refused', async () => {
    const here = place();
    const large = await parley(['-p', 'x'], { ...here, input: 'x'.repeat(4 * 1024 * 1024 + 1) });
    assertRefused(large, 2, /larger than 4194304 bytes: .*@FILE/);
  });

  test('--output json is the object of the contract', async () => {
    const here = place();
    const model = script(here, [write('hello.txt'), [{ text: 'Done.' }]]);
    const args = ['-p', 'greet', '--model', model, '--approval', 'auto-edit', '--output', 'json'];
    const ended = await parley(args, here);
    assert.equal(ended.code, 0, ended.err);
    assert.equal(lines(ended.out).length, 1);
    const { sessionId, taskId, toolCalls, usage, ...rest } = result(ended);
    assert.deepEqual(rest, { state: 'completed', text: 'Done.' });
    assert.match(`${sessionId} ${taskId}`, /^[\da-f-]{36} [\da-f-]{36}$/);
    assert.deepEqual(
      toolCalls.map(({ tool_name, status }) => [tool_name, status]),
      [['write_file', 'SUCCEEDED']],
    );
    assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
    assert.equal(readFileSync(path.join(here.cwd, 'hello.txt'), 'utf8'), 'hello\n');
  });

  test('a command that fails is a failed call, with its exit code in the JSON', async () => {
    const here = place();
    const fails = { name: 'run_shell_command', args: { command: 'echo bad; exit 7' } };
    const model = script(here, [[{ call: fails }], [{ text: 'Done.' }]]);
    const args = ['-p', 'fail', '--model', model, '--approval', 'yolo', '--output', 'json'];
    const ended = await parley(args, here);
    assert.equal(ended.code, 0, ended.err);
    const [call] = result(ended).toolCalls;
    assert.equal(call?.status, 'FAILED');
    assert.deepEqual(call.error, {
      message: 'exit code 7\nbad\n',
      type: 'exit_code',
      status_code: 7,
    });
  });

  test('--output stream-json is each event as the extension has it, then that object', async () => {
    const here = place();
    const model = script(here, [write('hello.txt'), [{ text: 'Done.' }]]);
    const args = ['-p', 'greet', '--model', model, '--approval', 'yolo', '--output', 'stream-json'];
    const ended = await parley(args, here);
    const printed = lines(ended.out) as unknown as StreamEvent[];
    const kinds = printed.slice(0, -1).map((event) => {
      if (event.kind !== 'status-update') return event.kind;
      const part = event.status.message?.parts[0];
      const { kind } = eventIn(event.metadata) ?? {};
      if (kind !== 'TOOL_CALL_UPDATE') return kind;
      return ToolCall.parse(part?.kind === 'data' ? part.data : {}).status;
    });
    assert.deepEqual(kinds, [
      'task',
      'STATE_CHANGE',
      'PENDING',
      'EXECUTING',
      'SUCCEEDED',
      'TEXT_CONTENT',
      'STATE_CHANGE',
    ]);
    assert.equal(result(ended).text, 'Done.');
  });

  test('what needs an approval is denied and said so, with the flag and the rule that would allow it', async () => {
    const here = place();
    const model = script(here, [
      [...write('a.txt'), { call: { name: 'run_shell_command', args: { command: 'touch b' } } }],
      [{ text: 'Then not.' }],
    ]);
    const ended = await parley(['-p', 'go', '--model', model], here);
    assert.equal(ended.code, 3);
    assert.equal(ended.out, 'Then not.\n');
    const [second = '', first = ''] = ended.err.trimEnd().split('\n').toSorted();
    assert.match(
      first,
      /^parley: write_file \(Write a\.txt\) was denied.* --approval auto-edit or/,
    );
    assert.match(
      second,
      /run_shell_command \(.*touch b.*\) was denied.* --approval yolo or "policy"/,
    );
    assert.equal(existsSync(path.join(here.cwd, 'a.txt')), false);

    // The rules that it names do let the calls through.
    const rules = [first, second].map((line) => /"policy": (\[.*\]) in (.*)$/.exec(line) ?? []);
    const file = rules[0]?.[2] ?? '';
    mkdirSync(path.dirname(file), { recursive: true });
    const policy = rules.flatMap(([, text = '']) => JSON.parse(text) as object[]);
    writeFileSync(file, JSON.stringify({ policy }));
    const again = await parley(['-p', 'go', '--model', model], here);
    assert.deepEqual([again.code, again.err], [0, '']);
    assert.ok(existsSync(path.join(here.cwd, 'a.txt')) && existsSync(path.join(here.cwd, 'b')));

    // In another folder they do not.
    const elsewhere = path.join(here.cwd, '..', 'elsewhere');
    mkdirSync(elsewhere);
    const other = await parley(['-p', 'go', '--model', model], { ...here, cwd: elsewhere });
    assert.equal(other.code, 3, other.err);
    assert.ok(!existsSync(path.join(elsewhere, 'a.txt')));
    assert.ok(!existsSync(path.join(elsewhere, 'b')));
  });

  test('auto-edit is suggested only for an edit about which no rule asks', async () => {
    const here = place();
    const config = path.join(here.env.XDG_CONFIG_HOME, 'parley');
    mkdirSync(config, { recursive: true });
    const policy = [{ tool: 'read_file', pattern: 'secret/**', decision: 'ask' }];
    writeFileSync(path.join(config, 'settings.json'), JSON.stringify({ policy }));
    mkdirSync(path.join(here.cwd, 'secret'));
    writeFileSync(path.join(here.cwd, 'secret', 'a'), 'old\n');
    const patch = (...lines: string[]) => {
      const text = ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
      return [{ call: { name: 'apply_patch', args: { patch: text } } }];
    };
    const cases = [
      [write('a.txt'), 'auto-edit'],
      [write('.parley/commands/a.md'), 'yolo'],
      [patch('*** Update File: secret/a', '*** Move to: a', '@@', '-old', '+new'), 'yolo'],
      [patch('*** Add File: b', '+b', '*** Add File: c', '+c'), 'auto-edit'],
      [patch('*** Add File: d', '+d', '*** Add File: .parley/d', '+d'), 'yolo'],
    ] as const;
    for (const [call, mode] of cases) {
      const model = script(here, [call, [{ text: 'Then not.' }]]);
      const { code, err } = await parley(['-p', 'go', '--model', model], here);
      assert.equal(code, 3, err);
      assert.equal(/allow it with --approval (\S+)/.exec(err)?.[1], mode, err);
      const allowed = ['-p', 'go', '--model', model, '--approval', mode];
      const { code: after, err: still } = await parley(allowed, here);
      assert.equal(after, 0, still);
    }
  });

  test('of what is denied the model hears that nobody was there, and no decision of a person', async () => {
    const here = place();
    const model = script(here, [write('a.txt'), [{ text: 'Then not.' }]]);
    const ended = await parley(['-p', 'go', '--model', model, '--output', 'json'], here);
    const [call] = result(ended).toolCalls;
    assert.equal(call?.status, 'CANCELLED');
    assert.match(
      call?.error?.message ?? '',
      /: No person can be asked\. Continue without this call/,
    );
  });

  test('a question that nobody can answer is passed over, and is no denial', async () => {
    const here = place();
    const model = script(here, [
      [
        {
          call: { name: 'ask_user', args: { question: 'Red or blue?', options: ['red', 'blue'] } },
        },
      ],
      [{ text: 'Grey then.' }],
    ]);
    const { code, out, err } = await parley(['-p', 'paint', '--model', model], here);
    assert.deepEqual([code, out], [0, 'Grey then.\n']);
    assert.match(
      err,
      /there is no person to ask, so this question was not answered: "Red or blue\?"/,
    );
  });

  test('each question of a remote helper is passed over once', async (t) => {
    const here = place();
    const asker = createAgent({ name: 'Asker', description: 'Asks' }, async function* (context) {
      await context.ask('Red or blue?');
      await context.ask('Dark or light?');
      yield 'Done.';
    });
    const helper = await serve(asker, { logger: quiet }).listen(0);
    t.after(() => helper.close(0));
    const helpers = path.join(here.env.XDG_CONFIG_HOME, 'parley', 'helpers');
    mkdirSync(helpers, { recursive: true });
    const text = `---\ndescription: Asks.\nurl: ${helper.url}\n---\n`;
    writeFileSync(path.join(helpers, 'asker.md'), text);
    const model = script(here, [
      [{ call: { name: 'task', args: { helper: 'asker', prompt: 'paint' } } }],
      [{ text: 'Grey then.' }],
    ]);
    const words = ['-p', 'paint', '--approval', 'yolo', '--model', model];
    const { code, out, err } = await parley(words, here);
    assert.deepEqual([code, out], [0, 'Grey then.\n'], err);
    assert.deepEqual(err.match(/(?:Red or blue|Dark or light)\?/g), [
      'Red or blue?',
      'Dark or light?',
    ]);
  });

  test('a model that never gives in is ended', async () => {
    const here = place();
    const model = script(
      here,
      Array.from({ length: 40 }, () => write('a.txt')),
    );
    const { code, err } = await parley(['-p', 'go', '--model', model], here);
    assert.equal(code, 3);
    assert.match(err, /kept requesting calls that were denied\n$/);
  });

  test('a task that fails: exit code 1, and the cause in one line', async () => {
    const here = place();
    const model = script(here, []);
    const ended = await parley(['-p', 'go', '--model', model, '--output', 'json'], here);
    assertRefused(ended, 1, /the task failed: .*script/i);
    assert.equal(result(ended).state, 'failed');
  });

  test('an interrupt ends the turn and what it has started: exit code 130', async () => {
    const here = place();
    const command = 'echo pid=$$; exec sleep 600';
    const model = script(here, [[{ call: { name: 'run_shell_command', args: { command } } }]]);
    const args = ['-p', 'wait', '--model', model, '--approval', 'yolo', '--output', 'stream-json'];
    const running = start(args, here);
    const [, digits] = await running.saying(/pid=(\d+)/);
    const pid = Number(digits);
    running.child.kill('SIGINT');
    const ended = await running.ended;
    assert.equal(ended.code, 130, ended.err);
    assert.equal(result(ended).state, 'canceled');
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });

  test('--resume goes on with the last session of the folder, or with one by its id', async () => {
    const here = place();
    const model = script(here, [[{ text: 'First.' }]]);
    const json = ['--output', 'json', '--model', model];
    const first = result(await parley(['-p', 'one', ...json], here));
    const second = result(await parley(['-p', 'two', '--resume', ...json], here));
    const third = result(await parley(['-p', 'three', '--resume', first.sessionId, ...json], here));
    const other = result(await parley(['-p', 'four', ...json], here));
    assert.deepEqual([second.sessionId, third.sessionId], [first.sessionId, first.sessionId]);
    assert.notEqual(other.sessionId, first.sessionId);
    assert.ok(third.usage.inputTokens > first.usage.inputTokens, 'it has the conversation');

    const elsewhere = { ...here, cwd: path.join(here.cwd, '..') };
    const from = await parley(
      ['-p', 'list', '--resume', first.sessionId, '--model', 'offline'],
      elsewhere,
    );
    assert.match(from.err, new RegExp(`works in ${here.cwd}`));
    assertRefused(await parley(['-p', 'x', '--resume'], elsewhere), 2, /no session in/);
    renameSync(here.cwd, `${here.cwd}-moved`);
    const gone = await parley(['-p', 'x', '--resume', first.sessionId], elsewhere);
    assertRefused(gone, 2, /the session works in .*work, which no longer exists: create/);
  });

  test('the settings of a workspace count once it is trusted', async () => {
    const here = place();
    mkdirSync(path.join(here.cwd, '.parley'));
    writeFileSync(
      path.join(here.cwd, '.parley', 'settings.json'),
      JSON.stringify({ approval: 'auto-edit', model: 'offline' }),
    );
    const args = ['-p', 'create a.txt with hello'];
    const before = await parley(args, here);
    assert.equal(before.code, 3);
    assert.match(before.err, /settings\.json is ignored, .* parley trust /);
    assert.equal((await parley(['trust', '--show'], here)).code, 1);
    const trusted = await parley(['trust'], here);
    assert.match(trusted.out, /is trusted: .*settings\.json is now in use\n$/);
    assert.deepEqual(await parley(args, here), { code: 0, out: 'I wrote a.txt.\n', err: '' });
    await parley(['trust', here.cwd, '--revoke'], here);
    assert.equal((await parley(['trust', '--show'], here)).code, 1);
  });

  test('slash commands work too, and one that cannot be done fails', async () => {
    const here = place();
    const help = await parley(['-p', '/help', '--model', 'offline'], here);
    assert.deepEqual([help.code, help.err], [0, '']);
    assert.match(help.out, /^\/help: /m);
    const wrong = await parley(['-p', '/memory wrong', '--model', 'offline'], here);
    assert.equal(wrong.code, 1);
    assert.match(wrong.out, /\/memory show/);
  });

  test('what a session has chosen for itself holds until a flag says otherwise', async () => {
    const here = place();
    const model = ['--model', 'offline'];
    const write = ['-p', 'create a.txt with alpha', '--resume', ...model];
    await parley(['-p', '/approval auto-edit', ...model], here);
    const strict = await parley([...write, '--approval', 'ask'], here);
    assert.deepEqual([strict.code, existsSync(path.join(here.cwd, 'a.txt'))], [3, false]);
    await parley(['-p', '/approval auto-edit', '--resume', ...model], here);
    assert.equal((await parley(write, here)).code, 0);
  });

  test('settings that cannot be read are named with their line', async () => {
    const here = place();
    const file = path.join(here.env.XDG_CONFIG_HOME, 'parley', 'settings.json');
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, '{\n  "aproval": "ask"\n}');
    assertRefused(
      await parley(['-p', 'x'], here),
      2,
      /settings\.json:2: aproval: there is no such/,
    );
  });
});

test('whoever read the output has gone: what was started is ended all the same', async () => {
  const here = place();
  const deaf = 'trap "" HUP TERM; echo $$ > pid; while :; do echo on; sleep 0.2; done';
  const model = script(here, [
    [{ call: { name: 'run_shell_command', args: { command: deaf } } }],
    [{ text: 'Never said.' }],
  ]);
  const flags = ['--model', model, '--approval', 'yolo', '--output', 'stream-json'];
  const running = start(['-p', 'go', ...flags], here);
  await running.saying(/"live_content":"on/);
  running.child.stdout?.destroy();
  const { code, err } = await running.ended;
  assert.deepEqual({ code, err }, { code: 130, err: '' });
  const pid = Number(readFileSync(path.join(here.cwd, 'pid'), 'utf8'));
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});
