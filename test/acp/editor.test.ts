// An editor that offers its buffers and its terminals: the agent uses them in the turns that this editor starts.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  client,
  methods,
  RequestError,
  type CreateTerminalRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { scriptedModel } from '../../src/agent/models/scripted.ts';
import type { ModelRequest } from '../../src/agent/model.ts';
import type { LiveRole } from '../../src/live/client/session.ts';
import { heard } from '../coder/talk.ts';
import { tries } from '../support/interop-table.ts';
import { allowed, editorFor, startLive, type LiveStart } from './support.ts';

interface Setting extends LiveStart {
  /** Files on disk. */
  readonly files?: Readonly<Record<string, string>>;
  /** What the editor's buffers have, where it differs. */
  readonly buffers?: Readonly<Record<string, string>>;
  readonly roles?: readonly LiveRole[];
  /** Without it, the editor only changes its buffers. */
  readonly saves?: boolean;
  readonly writes?: boolean;
  readonly editorTimeoutMs?: number;
}

/** An editor with buffers and terminals, in a live session. */
async function startEditor(t: TestContext, setting: Setting) {
  const { files = {}, buffers = {}, roles, saves = true, writes = true, ...start } = setting;
  const started = await startLive(t, start);
  const at = (name: string) => join(started.workspace, name);
  for (const [name, text] of Object.entries(files)) writeFileSync(at(name), text);
  const editor = {
    /** The buffers with unsaved changes, by path. */
    buffers: new Map(Object.entries(buffers).map(([name, text]) => [at(name), text])),
    read: [] as string[],
    /** The number of requests to write a file. */
    writing: 0,
    written: [] as [string, string][],
    terminals: [] as CreateTerminalRequest[],
    /** What happened to the terminals. */
    ends: [] as string[],
    output: 'from the terminal\n',
    exit: Promise.withResolvers<{ exitCode?: number; signal?: string }>(),
    /** If set, each request for a file waits for it. */
    hold: undefined as Promise<void> | undefined,
    /** If set, each request to write a file waits for it. */
    writeHold: undefined as Promise<void> | undefined,
    refusal: undefined as string | undefined,
    /** If set, only writing this file is refused. */
    refused: undefined as string | undefined,
  };
  const refuse = (path?: string) => {
    if (editor.refused !== undefined && path !== at(editor.refused)) return;
    if (editor.refusal !== undefined) throw new RequestError(-32000, editor.refusal);
  };
  const { fs, terminal } = methods.client;
  const app = client({ name: 'editor' })
    .onRequest(fs.readTextFile, async ({ params: { path } }) => {
      editor.read.push(path);
      await editor.hold;
      const content = editor.buffers.get(path);
      if (content !== undefined) return { content };
      try {
        return { content: readFileSync(path, 'utf8') };
      } catch {
        throw RequestError.resourceNotFound(path);
      }
    })
    .onRequest(fs.writeTextFile, async ({ params: { path, content } }) => {
      editor.writing += 1;
      await editor.hold;
      await editor.writeHold;
      refuse(path);
      editor.written.push([path, content]);
      editor.buffers.set(path, content);
      if (saves) writeFileSync(path, content);
      return {};
    })
    .onRequest(terminal.create, ({ params }) => {
      refuse();
      editor.terminals.push(params);
      return { terminalId: `t${editor.terminals.length}` };
    })
    .onRequest(terminal.output, () => ({ output: editor.output, truncated: false }))
    .onRequest(terminal.waitForExit, () => editor.exit.promise)
    .onRequest(terminal.kill, () => {
      editor.ends.push('killed');
      editor.exit.resolve({ signal: 'SIGTERM' });
      return {};
    })
    .onRequest(terminal.release, () => {
      editor.ends.push('released');
      return {};
    });
  const capabilities = { fs: { readTextFile: true, writeTextFile: writes }, terminal: true };
  const { editor: person } = editorFor(
    t,
    {
      join: ({ clientName: name, editor: offered }) =>
        started.live.join({ kind: 'acp', name, editor: offered, roles }),
      ...(setting.editorTimeoutMs !== undefined && { editorTimeoutMs: setting.editorTimeoutMs }),
    },
    { app, capabilities },
  );
  await person.open(started.workspace);
  person.answer = () => allowed;
  return {
    ...started,
    at,
    editor,
    person,
    disk: (name: string) => readFileSync(at(name), 'utf8'),
  };
}

const readCall = { call: { name: 'read_file', args: { path: 'a.txt' } } };
const editCall = { call: { name: 'edit', args: { path: 'a.txt', old: 'two', new: '2' } } };
const shellCall = { call: { name: 'run_shell_command', args: { command: 'echo $0' } } };
const done = [{ text: 'Done.' }];

function note(t: TestContext, ...operations: readonly string[]): void {
  const peer = { protocol: 'ACP', peer: '@agentclientprotocol/sdk 2.4.0', role: 'client' } as const;
  for (const operation of operations) tries(t, { ...peer, operation });
}

/** The last update of the first call, and what it shows. */
function lastOf(updates: readonly SessionUpdate[]): { status?: unknown; shown: string } {
  const calls = updates.filter((each) => each.sessionUpdate.startsWith('tool_call'));
  const last = calls.at(-1);
  assert.ok(last && 'status' in last);
  return { status: last.status, shown: JSON.stringify(last) };
}

test('a file is read with the changes that are not saved yet', async (t) => {
  const { person } = await startEditor(t, {
    script: [[readCall], done],
    files: { 'a.txt': 'saved' },
    buffers: { 'a.txt': 'unsaved' },
  });
  await person.prompt('read');
  assert.match(lastOf(person.updates).shown, /unsaved/);
});

test('an edit changes the buffer, with the unsaved changes, and the editor saves it', async (t) => {
  note(t, 'approve', 'files');
  const { person, editor, at, disk } = await startEditor(t, {
    script: [[editCall], done],
    files: { 'a.txt': 'one\ntwo\n' },
    buffers: { 'a.txt': 'zero\none\ntwo\n' },
  });
  await person.prompt('edit');
  const [asked] = person.asked;
  assert.partialDeepStrictEqual(asked?.toolCall.content, [
    { type: 'diff', oldText: 'zero\none\ntwo\n', newText: 'zero\none\n2\n' },
  ]);
  assert.deepEqual(editor.written, [[at('a.txt'), 'zero\none\n2\n']]);
  assert.equal(disk('a.txt'), 'zero\none\n2\n');
  assert.doesNotMatch(person.text, /differs/);
});

test('a new file is written by the editor, and /restore removes it', async (t) => {
  const { person, editor, at } = await startEditor(t, {
    script: [[{ call: { name: 'write_file', args: { path: 'new/b.txt', content: 'b' } } }], done],
    files: { 'a.txt': 'a' },
  });
  await person.prompt('write');
  assert.deepEqual(editor.written, [[at('new/b.txt'), 'b']]);
  await person.prompt('/restore');
  const [id] = /\d{8}-\d{6}-\d{3}-\w+/.exec(person.text) ?? [];
  assert.ok(id, person.text);
  await person.prompt(`/restore ${id}`);
  assert.throws(() => readFileSync(at('new/b.txt')), /ENOENT/);
});

test('the model is told if the editor has not saved the file', async (t) => {
  const requests: ModelRequest[] = [];
  const { person, disk } = await startEditor(t, {
    model: scriptedModel([[editCall], done], { onRequest: (request) => requests.push(request) }),
    files: { 'a.txt': 'one\ntwo\n' },
    buffers: { 'a.txt': 'unsaved\ntwo\n' },
    saves: false,
  });
  await person.prompt('edit @a.txt');
  assert.equal(disk('a.txt'), 'one\ntwo\n');
  assert.match(heard(requests[0]), /unsaved/, 'a file that is mentioned is read from the buffer');
  assert.match(heard(requests[1]), /a\.txt on disk differs: the editor has not saved it/);
});

test('a file beside the prompt of an MCP server is read from the buffer too', async (t) => {
  const requests: ModelRequest[] = [];
  const server = resolve(import.meta.dirname, '../e2e/mcp-server.ts');
  const { person, at } = await startEditor(t, {
    model: scriptedModel([done], { onRequest: (request) => requests.push(request) }),
    mcpServers: {
      mine: { command: process.execPath, args: ['--conditions=parley-source', server] },
    },
    allowClientMcp: true,
    files: { 'a.txt': 'saved' },
    buffers: { 'a.txt': 'unsaved' },
  });
  await person.connection.agent.request(methods.agent.session.prompt, {
    sessionId: person.sessionId,
    prompt: [
      { type: 'text', text: '/mine:greet Ann' },
      { type: 'resource_link', name: 'a.txt', uri: pathToFileURL(at('a.txt')).href },
    ],
  });
  assert.match(heard(requests[0]), /Greet Ann/);
  assert.match(heard(requests[0]), /unsaved/);
});

test('a buffer that has changed since the approval is not written', async (t) => {
  const { person, editor, at, disk } = await startEditor(t, {
    script: [[editCall], done],
    files: { 'a.txt': 'one\ntwo\n' },
  });
  person.answer = () => {
    editor.buffers.set(at('a.txt'), 'typed\ntwo\n');
    return allowed;
  };
  await person.prompt('edit');
  const { status, shown } = lastOf(person.updates);
  assert.deepEqual([status, editor.written, disk('a.txt')], ['failed', [], 'one\ntwo\n']);
  assert.match(shown, /modified after the approval was requested/);
});

test('an editor is never asked for a file outside the workspace', async (t) => {
  const { person, editor, at } = await startEditor(t, {
    script: [
      [readCall, { call: { name: 'write_file', args: { path: 'a.txt', content: '' } } }],
      done,
    ],
  });
  symlinkSync('/etc/hostname', at('a.txt'));
  await person.prompt('read');
  assert.deepEqual([editor.read, editor.written], [[], []]);
});

test('a file that the editor refuses to write stays as it is', async (t) => {
  const { person, editor, disk } = await startEditor(t, {
    script: [[editCall], done],
    files: { 'a.txt': 'two' },
  });
  editor.refusal = 'read-only buffer';
  await person.prompt('edit');
  assert.match(lastOf(person.updates).shown, /the editor refused to write a.txt: read-only buffer/);
  assert.equal(disk('a.txt'), 'two');
});

test('with an editor that only reads, a file with unsaved changes is not edited', async (t) => {
  const { person, disk } = await startEditor(t, {
    script: [[editCall], done],
    files: { 'a.txt': 'two' },
    buffers: { 'a.txt': 'two and more' },
    writes: false,
  });
  await person.prompt('edit');
  assert.match(lastOf(person.updates).shown, /unsaved changes in the editor/);
  assert.equal(disk('a.txt'), 'two');
});

test('an editor that does not answer is asked once, and then the disk is used', async (t) => {
  const { person, editor, disk } = await startEditor(t, {
    script: [[readCall], [editCall], done],
    files: { 'a.txt': 'two' },
    editorTimeoutMs: 20,
  });
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  editor.hold = held.promise;
  await person.prompt('edit');
  assert.deepEqual([editor.read.length, disk('a.txt')], [1, '2']);
});

test('an editor that did not answer in one turn is asked again in the next', async (t) => {
  const { person, editor } = await startEditor(t, {
    script: [[readCall], [readCall], done, [readCall], done],
    files: { 'a.txt': 'saved' },
    editorTimeoutMs: 20,
  });
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  editor.hold = held.promise;
  await person.prompt('read');
  assert.equal(editor.read.length, 1);
  await person.prompt('read again');
  assert.equal(editor.read.length, 2);
});

test('the files and terminals of an editor that may not approve are not used', async (t) => {
  const { person, editor } = await startEditor(t, {
    script: [[readCall], done],
    files: { 'a.txt': 'saved' },
    roles: ['view', 'prompt'],
  });
  await person.prompt('read');
  assert.deepEqual(editor.read, []);
});

test('the turn of another client uses the disk and the local shell', async (t) => {
  const { person, editor, live } = await startEditor(t, {
    script: [[readCall, shellCall], done],
    files: { 'a.txt': 'saved' },
  });
  await live.join({ kind: 'terminal' }).prompt('read and run');
  await person.until(() => person.text === 'Done.');
  assert.deepEqual([editor.read, editor.terminals], [[], []]);
});

test("a command runs in the editor's terminal, which the call shows", async (t) => {
  note(t, 'terminal');
  const secrets = ['PARLEY_NTFY', 'PARLEY_PREVIOUS_SECRET_KEY', 'BASH_FUNC_git%%'];
  for (const name of secrets) process.env[name] = 'secret';
  t.after(() => secrets.forEach((name) => delete process.env[name]));
  const { person, editor, workspace } = await startEditor(t, { script: [[shellCall], done] });
  const prompted = person.prompt('run');
  await person.until(() => JSON.stringify(person.updates).includes('"terminalId":"t1"'));
  editor.exit.resolve({ exitCode: 0 });
  await prompted;
  const [{ command, args, cwd, env = [] } = {}] = editor.terminals;
  assert.deepEqual([command, args?.at(-1), cwd], ['bash', 'echo $0', workspace]);
  const values = new Map(env.map(({ name, value }) => [name, value]));
  assert.equal(values.get('PAGER'), 'cat');
  for (const name of [...secrets, 'OPENAI_API_KEY', 'SHELLOPTS', 'BASHOPTS']) {
    assert.equal(values.get(name), '', name);
  }
  const last = person.of('tool_call_update').at(-1);
  assert.deepEqual(last?.content, [{ type: 'terminal', terminalId: 't1' }]);
  assert.match(JSON.stringify(last?.rawOutput), /from the terminal/);
  assert.deepEqual(editor.ends, ['released']);
});

test('in a terminal of the editor, programs are searched only in absolute folders', async (t) => {
  const { PATH: before = '' } = process.env;
  process.env['PATH'] = `./tools:${before}::bin`;
  t.after(() => (process.env['PATH'] = before));
  const { person, editor } = await startEditor(t, { script: [[shellCall], done] });
  editor.exit.resolve({ exitCode: 0 });
  await person.prompt('run');
  const folders = before.split(':').filter((folder) => folder.startsWith('/'));
  const [{ env = [] } = {}] = editor.terminals;
  assert.equal(env.find(({ name }) => name === 'PATH')?.value, folders.join(':'));
});

test('a command in a terminal fails by its exit code, and is killed after its timeout', async (t) => {
  const slow = { name: 'run_shell_command', args: { command: 'sleep 9', timeout_ms: 10 } };
  const { person, editor } = await startEditor(t, {
    script: [[shellCall], [{ call: slow }], done],
  });
  editor.exit.resolve({ exitCode: 3 });
  const prompted = person.prompt('run');
  await person.until(() => editor.ends.length === 1);
  editor.exit = Promise.withResolvers();
  await prompted;
  const shown = JSON.stringify(person.of('tool_call_update'));
  assert.match(shown, /exit code 3/);
  assert.match(shown, /timeout: killed after/);
  assert.deepEqual(editor.ends, ['released', 'killed', 'released']);
});

test('a command that the editor refuses to run is not run in the local shell', async (t) => {
  const { person, editor } = await startEditor(t, { script: [[shellCall], done] });
  editor.refusal = 'no terminals here';
  await person.prompt('run');
  assert.match(lastOf(person.updates).shown, /refused to run the command: no terminals here/);
});

test('a command whose end the editor does not tell has an unknown outcome, and was not denied', async (t) => {
  const { person, editor } = await startEditor(t, { script: [[shellCall], done] });
  const prompted = person.prompt('run');
  while (editor.terminals.length === 0) await new Promise(setImmediate);
  editor.exit.promise.catch(() => {});
  editor.exit.reject(new RequestError(-32000, 'no such terminal'));
  await prompted;
  const { shown } = lastOf(person.updates);
  assert.match(shown, /then failed \(no such terminal\), so the outcome is unknown/);
  assert.doesNotMatch(shown, /denied/);
});

test('a background job runs in the local shell', async (t) => {
  const job = { name: 'run_shell_command', args: { command: 'true', background: true } };
  const { person, editor } = await startEditor(t, { script: [[{ call: job }], done] });
  await person.prompt('run');
  assert.deepEqual(editor.terminals, []);
  assert.equal(lastOf(person.updates).status, 'completed');
});

test('if the editor leaves while a command runs, the outcome is unknown, and the disk is used', async (t) => {
  const { person, live } = await startEditor(t, {
    script: [[shellCall], [readCall], done],
    files: { 'a.txt': 'saved' },
  });
  const other = live.join({ kind: 'terminal' });
  const prompted = person.prompt('run');
  await person.until(() => JSON.stringify(person.updates).includes('"terminalId":"t1"'));
  const seen: string[] = [];
  const watching = (async () => {
    for await (const item of other.items({ after: 0 })) {
      seen.push(JSON.stringify(item));
      const event = item.kind === 'event' ? item.event : undefined;
      if (event?.kind === 'status-update' && event.status.state === 'completed') return;
    }
  })();
  person.connection.close();
  await assert.rejects(prompted);
  await watching;
  assert.match(seen.join('\n'), /so the outcome is unknown/);
  assert.match(seen.join('\n'), /saved/);
});

test('if the editor refuses one file of a patch, the others get their old content again', async (t) => {
  const patch = `*** Begin Patch
*** Update File: a.txt
-one
+1
*** Add File: new.txt
+new
*** Update File: b.txt
-two
+2
*** End Patch`;
  const { person, editor, at, disk } = await startEditor(t, {
    script: [[{ call: { name: 'apply_patch', args: { patch } } }], done],
    files: { 'a.txt': 'one\n', 'b.txt': 'two\n' },
  });
  editor.refusal = 'read-only buffer';
  editor.refused = 'b.txt';
  await person.prompt('patch');
  assert.match(lastOf(person.updates).shown, /the editor refused to write b.txt/);
  assert.deepEqual([disk('a.txt'), disk('b.txt')], ['one\n', 'two\n']);
  assert.equal(editor.buffers.get(at('a.txt')), 'one\n');
  assert.throws(() => disk('new.txt'), /ENOENT/);
});

test('a turn that is canceled while the editor writes a file writes no further one', async (t) => {
  const patch = `*** Begin Patch
*** Add File: a.txt
+one
*** Add File: b.txt
+two
*** End Patch`;
  const { person, editor, at } = await startEditor(t, {
    script: [[{ call: { name: 'apply_patch', args: { patch } } }], done],
  });
  const hold = Promise.withResolvers<void>();
  editor.writeHold = hold.promise;
  const prompted = person.prompt('patch');
  while (editor.writing === 0) await new Promise(setImmediate);
  await person.cancel();
  assert.deepEqual(await prompted, { stopReason: 'cancelled' });
  hold.resolve();
  // The first file is removed again.
  while (editor.written.length === 0 || existsSync(at('a.txt'))) await new Promise(setImmediate);
  assert.equal(editor.writing, 1);
});

test('a text that is too long is not taken from the editor', async (t) => {
  const { person } = await startEditor(t, {
    script: [[readCall], done],
    files: { 'a.txt': 'saved' },
    buffers: { 'a.txt': 'x'.repeat(10 * 1024 * 1024 + 1) },
  });
  await person.prompt('read');
  assert.match(lastOf(person.updates).shown, /saved/);
});

test('a canceled turn kills the command in the terminal', async (t) => {
  note(t, 'cancel');
  const { person, editor } = await startEditor(t, { script: [[shellCall], done] });
  const prompted = person.prompt('run');
  await person.until(() => JSON.stringify(person.updates).includes('"terminalId":"t1"'));
  await person.cancel();
  assert.deepEqual(await prompted, { stopReason: 'cancelled' });
  while (editor.ends.length < 2) await new Promise(setImmediate);
  assert.deepEqual(editor.ends, ['killed', 'released']);
});

test("the command of a helper runs in the editor's terminal, too", async (t) => {
  const task = { name: 'task', args: { prompt: 'run it' } };
  const { person, editor } = await startEditor(t, {
    script: [[{ call: task }], [shellCall], [{ text: 'It ran.' }], done],
  });
  editor.exit.resolve({ exitCode: 0 });
  await person.prompt('delegate');
  assert.equal(editor.terminals.length, 1);
  assert.match(JSON.stringify(person.updates), /"terminalId":"t1"/);
});
