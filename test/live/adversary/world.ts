/**
 * What a hostile client is up against: the live session of the program, a model that does whatever it is told, and a
 * terminal that writes down what it was shown. `changes` compares the world with what it was.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { TestContext } from 'node:test';
import { openHost } from '../schedules/host.ts';
import { chunk, serveModel } from '../schedules/model.ts';
import { makePlace } from '../../coder/support.ts';
import type { Member } from '../../../src/live/member.ts';
import type { LiveSnapshot } from '../../../src/live/client/session.ts';
import type { LiveToken } from '../../../src/live/index.ts';
import {
  readStatus,
  WaitingCalls,
  type Fact,
  type ToolCall,
} from '../../../src/protocol/development-tool/index.ts';
import { textOf } from '../../../src/protocol/index.ts';

/** A prompt that makes the model call this tool. */
export function ordering(name: string, args: object): string {
  return `call ${JSON.stringify({ name, args })}`;
}

/** What the person at the terminal could have seen. */
interface Shown {
  readonly questions: { readonly call: ToolCall; answeredBy?: string; approved?: boolean }[];
  readonly prompts: { readonly text: string; readonly by: string }[];
}

export interface World {
  readonly url: string;
  readonly workspace: string;
  readonly elsewhere: string;
  readonly shown: Shown;
  readonly contextId: string;
  readonly taskId: () => string;
  /** The checkpoint that /restore would go back to. */
  readonly checkpoint: string;
  /** Whether the client may approve. Then it may also change the mode, in the session and for all to see. */
  readonly mayApprove: boolean;
  /** A call that waits, which the terminal shows. Made again if it was answered. */
  victim(): Promise<ToolCall>;
  /** Rejects at the terminal whatever waits, until nothing is left to do. */
  drain(): Promise<void>;
  /** What is different now, as lines; and whether the terminal has shown why. */
  changes(): Promise<Change[]>;
}

export interface Change {
  readonly what: string;
  readonly explained: boolean;
}

export async function openWorld(
  t: TestContext,
  tokens: readonly LiveToken[],
  approvers: readonly string[],
  mayApprove = false,
): Promise<World> {
  const { workspace, home } = makePlace(t);
  const elsewhere = join(home, '../elsewhere');
  const config = join(home, 'config/parley');
  for (const folder of [elsewhere, join(config, 'commands')])
    mkdirSync(folder, { recursive: true });
  writeFileSync(join(workspace, 'precious.txt'), 'first\n');
  writeFileSync(join(elsewhere, 'keep.txt'), 'kept\n');
  writeFileSync(join(config, 'commands/evil.md'), 'Look: !{touch by-command.txt}\n');
  writeFileSync(join(config, 'commands/order.md'), '{{args}}\n');
  const base = await serveModel(t, obey);
  const host = await openHost({
    workspace,
    environment: {
      PARLEY_HOME: home,
      XDG_CONFIG_HOME: join(home, 'config'),
      OPENAI_COMPATIBLE_API_KEY: 'key',
      OPENAI_COMPATIBLE_BASE_URL: base,
      PATH: process.env['PATH'] ?? '',
    },
    approval: 'ask',
    port: 0,
    tokens,
  });
  t.after(() => host.close());
  const terminal = new Terminal(host.live.join({ kind: 'terminal' }));
  t.after(() => terminal.close());
  void terminal.read();

  await terminal.ask(
    ordering('write_file', { path: 'precious.txt', content: 'second\n' }),
    'allow',
  );
  await terminal.ask('/restore list', 'allow');
  const [checkpoint = ''] = /^\S+(?= {2}\d)/m.exec(terminal.said) ?? [];
  const places = { workspace, elsewhere, config };
  const before = stateOf(places);
  const session = await snapshotOf(host.live.join({ kind: 'terminal' }));
  let victims = 0;
  /** Those who may run a command that changes something. */
  const commanders = [
    'terminal',
    ...tokens
      .filter(({ roles }) => roles.includes('prompt') && roles.includes('approve'))
      .map(({ name }) => name),
  ];

  return {
    url: host.url,
    workspace,
    elsewhere,
    shown: terminal.shown,
    contextId: host.live.contextId,
    taskId: () => host.live.taskId,
    checkpoint,
    mayApprove,
    async victim() {
      await terminal.drain();
      const order = { path: `victim-${++victims}.txt`, content: 'shown\n' };
      await terminal.prompt(ordering('write_file', order));
      return terminal.waiting();
    },
    drain: () => terminal.drain(),
    async changes() {
      const changes: Change[] = [];
      const now = stateOf(places);
      const names = new Set([...before.keys(), ...now.keys()]);
      for (const name of names) {
        if (before.get(name) === now.get(name)) continue;
        changes.push({
          what: `${name}: ${before.get(name)} → ${now.get(name)}`,
          explained: terminal.explains(name, now.get(name), approvers, commanders),
        });
      }
      const then = await snapshotOf(host.live.join({ kind: 'terminal' }));
      for (const [field, command] of [
        ['approval', '/approval'],
        ['model', '/model'],
        ['workspace', ''],
      ] as const) {
        if (session[field] === then[field]) continue;
        changes.push({
          what: `${field}: ${session[field]} → ${then[field]}`,
          explained: command !== '' && terminal.saw(command, commanders),
        });
        // What comes next is tried in the session as it was.
        if (command !== '') await terminal.ask(`${command} ${session[field]}`, 'allow');
      }
      return changes;
    },
  };
}

/** A model that does what the last prompt orders. */
async function obey(
  messages: Parameters<Parameters<typeof serveModel>[1]>[0],
  out: Parameters<Parameters<typeof serveModel>[1]>[1],
): Promise<void> {
  const last = messages.at(-1);
  const said = last?.role === 'user' ? last.content : '';
  const [, order] = [...said.matchAll(/^call (\{.*\})$/gm)].at(-1) ?? [];
  out.writeHead(200, { 'content-type': 'text/event-stream' });
  if (order === undefined) {
    out.end(`${chunk({ content: 'Very well.' })}${chunk({}, 'stop')}data: [DONE]\n\n`);
    return;
  }
  const { name, args } = JSON.parse(order) as { name: string; args: object };
  const id = `call_${Math.random().toString(36).slice(2)}`;
  const call = {
    index: 0,
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  };
  out.end(`${chunk({ tool_calls: [call] })}${chunk({}, 'tool_calls')}data: [DONE]\n\n`);
}

async function snapshotOf(member: Member): Promise<LiveSnapshot> {
  for await (const item of member.items()) {
    if (item.kind !== 'snapshot') continue;
    await member.close();
    return item.snapshot;
  }
  throw new Error('there is no snapshot');
}

/** Every file of these folders, with what is in it. */
function stateOf(places: Readonly<Record<string, string>>): Map<string, string> {
  const state = new Map<string, string>();
  for (const [name, folder] of Object.entries(places)) {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      if (entry.isFile()) {
        state.set(join(name, relative(folder, file)), readFileSync(file, 'utf8'));
      }
    }
  }
  return state;
}

/** A terminal that keeps what it was shown. */
class Terminal {
  readonly shown: Shown = { questions: [], prompts: [] };
  said = '';
  readonly #member: Member;
  readonly #waiting = new WaitingCalls();
  #state = 'submitted';
  #queued = 0;
  #changed = Promise.withResolvers<void>();

  constructor(member: Member) {
    this.#member = member;
  }

  close(): Promise<void> {
    return this.#member.close();
  }

  async read(): Promise<void> {
    for await (const item of this.#member.items()) {
      if (item.kind === 'presence') this.#queued = item.queued.length;
      if (item.kind === 'snapshot') {
        this.#state = item.snapshot.task.status.state;
        this.#waiting.clear();
      }
      if (item.kind === 'event' && item.event.kind === 'status-update') {
        this.#state = item.event.status.state;
        for (const fact of readStatus(item.event).facts) this.#take(fact);
      }
      const { resolve } = this.#changed;
      this.#changed = Promise.withResolvers();
      resolve();
    }
  }

  #take(fact: Fact): void {
    const open = (id?: string) =>
      this.shown.questions.filter(
        ({ call, answeredBy }) =>
          answeredBy === undefined && (id === undefined || call.tool_call_id === id),
      );
    if (fact.kind === 'text') this.said += fact.text;
    if (fact.kind === 'call' && fact.call.confirmation_request) {
      this.shown.questions.push({ call: fact.call });
    }
    if (fact.kind === 'answer') {
      const { tool_call_id, selected_option_id: option } = fact.confirmation;
      for (const question of open(tool_call_id)) {
        question.answeredBy = fact.source?.name ?? 'nobody';
        question.approved = option !== 'cancel';
      }
    }
    if (fact.kind === 'prompt' && fact.besideAnswer !== true) {
      const text = textOf([...fact.parts]);
      const by = fact.source?.name ?? 'nobody';
      if (this.#waiting.calls.length > 0 && !text.startsWith('/')) {
        for (const question of open()) {
          question.answeredBy = by;
          question.approved = /^y/i.test(text);
        }
      } else this.shown.prompts.push({ text, by });
    }
    this.#waiting.take(fact);
  }

  prompt(text: string): Promise<unknown> {
    return this.#member.prompt(text);
  }

  /** The call that waits. */
  async waiting(): Promise<ToolCall> {
    while (this.#waiting.calls.length === 0 || this.#state !== 'input-required') {
      await this.#changed.promise;
    }
    return this.#waiting.calls[0]!;
  }

  async ask(text: string, answer: 'allow' | 'reject'): Promise<void> {
    await this.prompt(text);
    await this.#settle(answer === 'allow' ? 'proceed_once' : 'cancel');
  }

  drain(): Promise<void> {
    return this.#settle('cancel');
  }

  async #settle(option: string): Promise<void> {
    const idle = () => this.#queued === 0 && /^(completed|submitted)$/.test(this.#state);
    for (;;) {
      // Presence is told a little later than events.
      if (idle()) await new Promise((resolve) => setTimeout(resolve, 40));
      if (idle()) return;
      for (const { tool_call_id } of this.#waiting.calls) {
        await this.#member
          .confirm({ tool_call_id, selected_option_id: option })
          .catch(() => undefined);
      }
      if (!idle())
        await Promise.race([
          this.#changed.promise,
          new Promise((resolve) => setTimeout(resolve, 100)),
        ]);
    }
  }

  /** Whether a question about this file was shown here, with this content, and somebody who may approve it did. */
  explains(
    name: string,
    content: string | undefined,
    approvers: readonly string[],
    commanders: readonly string[],
  ): boolean {
    if (name.startsWith('config'))
      return this.saw('/memory add', commanders) || this.#approved('save_memory', approvers);
    if (!name.startsWith('workspace')) return false;
    const file = name.slice('workspace/'.length);
    return this.shown.questions.some(({ call, approved, answeredBy = '' }) => {
      if (approved !== true || !approvers.includes(answeredBy)) return false;
      const { file_edit_details: edit } = call.confirmation_request!;
      if (edit) return edit.file_name === file && edit.new_content === content;
      return JSON.stringify(call).includes(call.tool_name === 'restore' ? 'restore' : file);
    });
  }

  #approved(tool: string, approvers: readonly string[]): boolean {
    return this.shown.questions.some(
      ({ call, approved, answeredBy = '' }) =>
        approved === true && call.tool_name === tool && approvers.includes(answeredBy),
    );
  }

  /** Whether a prompt that starts so was shown here, of somebody who may prompt and approve. */
  saw(command: string, commanders: readonly string[]): boolean {
    return this.shown.prompts.some(
      ({ text, by }) => text.trim().startsWith(command) && commanders.includes(by),
    );
  }
}
