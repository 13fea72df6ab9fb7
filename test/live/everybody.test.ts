// A terminal, two WebSockets, an editor and an SSE stream in one session. Twenty calls are asked about; any of them
// answers, several at once, and all but the terminal leave and come back. In the end all have seen the same.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { ToolCall } from '../../src/protocol/development-tool/index.ts';
import { callIn } from '../coder/support.ts';
import { EditorClient, SocketClient, StreamClient, type Participant } from './clients.ts';
import { startShared } from './program.ts';

const SEEDS = process.env['PARLEY_TEST_LONG'] ? 100 : 3;
const TURNS = 4;
const CTRL_U = '\u0015';

/** Five calls, alone and side by side; each leaves a line when it runs. */
function turn(number: number): ScriptedResponse[] {
  const call = (index: number): ScriptedResponse[number] => {
    const command = `echo c${number}${index} >> ran.txt`;
    return { call: { name: 'run_shell_command', args: { command } } };
  };
  return [[call(1), call(2)], [call(3)], [call(4), call(5)], [{ text: `Turn ${number} is over.` }]];
}

/** The same numbers for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function play(t: TestContext, seed: number): Promise<void> {
  const random = randomFrom(seed);
  const chance = (share: number) => random() < share;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

  const script = Array.from({ length: TURNS }, (_, index) => turn(index + 1)).flat();
  const program = await startShared(t, { script, rows: 50 });
  const { terminal, workspace } = program;
  // Sees everything, says nothing: what the others have seen is compared with it.
  const referee = new SocketClient(t, program, 'referee', () => true);
  await referee.rejoin();
  const taskId = referee.log.task!.id;
  const sockets = ['phone', 'tablet'].map(
    (name) => new SocketClient(t, program, name, () => chance(0.7)),
  );
  const stream = new StreamClient(program, taskId);
  const editor = new EditorClient(t, program);
  const others: Participant[] = [...sockets, stream, editor];
  for (const other of others) await other.rejoin();
  /** Answers with what its dialog shows, whichever call that is by then. */
  const atTerminal: Participant = {
    name: 'terminal',
    here: true,
    prompt: async (text) => terminal.type(`${CTRL_U}${text}\r`),
    answer: async (_callId, option) => {
      terminal.type(option === 'cancel' ? '5' : '1');
      return false;
    },
    leave: async () => {},
    rejoin: async () => {},
  };

  const asked = new Set<string>();
  const winners = new Map<string, number>();
  let read = 0;
  /** The calls that wait and were not dealt with; undefined at the end of the turn. */
  async function nextCalls(): Promise<string[] | undefined> {
    for (;;) {
      const fresh: string[] = [];
      for (const { method, params } of referee.frames.slice(read)) {
        read++;
        if (method !== 'tasks/event') continue;
        const call = callIn(params.event);
        if (call?.confirmation_request && !asked.has(call.tool_call_id)) {
          fresh.push(call.tool_call_id);
        }
        if (params.event.final && params.event.status.state === 'completed') return undefined;
      }
      for (const id of fresh) asked.add(id);
      if (fresh.length > 0) return fresh;
      await referee.log.reach(referee.log.seq + 1);
    }
  }

  async function settle(callId: string): Promise<void> {
    // Somebody's answer is sure to arrive.
    const sure = pick([...sockets, stream].filter((each) => each.here));
    const more = [...others, atTerminal].filter((each) => each.here && chance(0.3));
    const counted = await Promise.all(
      [...new Set([...more, sure])].map((each) =>
        each.answer(callId, chance(0.75) ? 'proceed_once' : 'cancel'),
      ),
    );
    winners.set(callId, counted.filter(Boolean).length);
  }

  for (let number = 1; number <= TURNS; number++) {
    const speaker = pick([...others.filter((each) => each.here), atTerminal]);
    await speaker.prompt(`turn ${number}`);
    for (let calls = await nextCalls(); calls; calls = await nextCalls()) {
      for (const each of others) {
        if (!chance(0.25)) continue;
        if (each.here) await each.leave();
        else await each.rejoin();
      }
      if (![...sockets, stream].some((each) => each.here)) await pick(sockets).rejoin();
      await Promise.all(calls.map(settle));
    }
  }

  // Everybody is there at the end, and comes to the same end.
  for (const each of others) if (!each.here) await each.rejoin();
  const { seq, task } = referee.log;
  for (const { log } of [...sockets, stream]) {
    await log.reach(seq);
    assert.deepEqual(log.task, task);
  }

  // No call was left open, none ran twice, and of the answers to one at most one counted.
  const history = [
    ...(task?.history ?? []),
    ...(task?.status.message ? [task.status.message] : []),
  ];
  const last = new Map<string, { readonly status: string; readonly line: string }>();
  for (const { parts } of history) {
    for (const part of parts) {
      const call = part.kind === 'data' ? ToolCall.safeParse(part.data).data : undefined;
      if (!call) continue;
      const { tool_call_id: id, status } = call;
      const [, line = last.get(id)?.line ?? ''] = /echo (c\d\d)/.exec(JSON.stringify(call)) ?? [];
      last.set(id, { status, line });
    }
  }
  assert.equal(last.size, TURNS * 5);
  for (const { status } of last.values()) assert.match(status, /^(SUCCEEDED|CANCELLED)$/);
  for (const count of winners.values()) assert.ok(count <= 1, 'two answers counted');
  const allowed = [...last.values()].filter(({ status }) => status === 'SUCCEEDED');
  const ran = linesOf(join(workspace, 'ran.txt'));
  assert.deepEqual(ran.toSorted(), allowed.map(({ line }) => line).toSorted());

  // The editor was told the same calls in the same order, each to its end.
  await editor.editor.until(({ updates }) => {
    const over = new Set(
      updates.flatMap((update) =>
        'toolCallId' in update && /^(completed|failed)$/.test(update.status ?? '')
          ? [update.toolCallId]
          : [],
      ),
    );
    return over.size === last.size && editor.editor.text.includes(`Turn ${TURNS} is over.`);
  });
  const told = editor.editor.of('tool_call').map(({ toolCallId }) => toolCallId);
  assert.deepEqual(told, [...last.keys()]);

  // And so was the person at the terminal.
  await terminal.until('the end', () => terminal.all().includes(`Turn ${TURNS} is over.`));
  const shown = [...terminal.all().matchAll(/^\S .*echo (c\d\d)/gm)].map(([, line]) => line);
  assert.deepEqual(
    shown,
    [...last.values()].map(({ line }) => line),
  );
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').trim().split('\n');
  } catch {
    // Everything was rejected.
    return [];
  }
}

for (let seed = 1; seed <= SEEDS; seed++) {
  test(`everybody sees the same, whoever answers, leaves and comes back (seed ${seed})`, (t) =>
    play(t, seed));
}
