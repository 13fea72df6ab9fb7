/** Plays one schedule: turns with calls, answers that race, cancellations, and a process that is killed. */
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { LiveItem } from '../../../src/live/client/session.ts';
import {
  EXTENSION_URI,
  hasOption,
  isAwaitingAnswer,
  readStatus,
  readTask,
  type Fact,
  type ToolCall,
} from '../../../src/protocol/development-tool/index.ts';
import { textOf, type StreamEvent } from '../../../src/protocol/index.ts';
import { startMcp } from '../../coder/mcp-http.ts';
import { callIn, makePlace, outline } from '../../coder/support.ts';
import { chanceFrom, type Chance } from './chance.ts';
import { openHost, type AtTerminal, type Host, type HostOptions } from './host.ts';
import { LAST_PROMPT, startModel, type ModelServer } from './model.ts';
import { gather, TOKENS, type Answer, type People } from './people.ts';

export interface Entry {
  readonly taskId: string;
  readonly seq: number;
  readonly event: StreamEvent;
}

/** What is left of a schedule, to be checked. */
export interface Played {
  readonly seed: number;
  readonly approval: string;
  readonly model: ModelServer;
  readonly workspace: string;
  /** The logs of all tasks of the session, oldest first. */
  readonly log: readonly Entry[];
  /** The numbers of the responses that were the latest when the process was killed. */
  readonly cutOff: readonly number[];
  /** What happened that must not. */
  readonly violations: readonly string[];
  /** What was done, for a person who looks into a failure. */
  readonly story: readonly string[];
}

export interface PlayOptions {
  readonly seed: number;
  /** Whether the session has a process of its own, which may be killed. */
  readonly kills: boolean;
}

const NOTE = `echo "$1 files=$(echo w-*) edits=$(tr '\\n' , < edits.txt)" >> journal.txt\n`;

export async function play(t: TestContext, { seed, kills }: PlayOptions): Promise<Played> {
  const chance = chanceFrom(seed);
  const place = makePlace(t);
  const { workspace, home } = place;
  writeFileSync(join(workspace, 'note.sh'), NOTE);
  writeFileSync(join(workspace, 'edits.txt'), 'END\n');
  const model = await startModel(t, chance);
  const mcp = await startMcp(t, () => notingServer(workspace));
  mkdirSync(join(home, 'config/parley'), { recursive: true });
  const settings = { mcpServers: { tools: { url: mcp.url } } };
  writeFileSync(join(home, 'config/parley/settings.json'), JSON.stringify(settings));
  const approval = chance.pick(['ask', 'ask', 'auto-edit'] as const, 'approval');
  const options: HostOptions = {
    workspace,
    environment: {
      PARLEY_HOME: home,
      XDG_CONFIG_HOME: join(home, 'config'),
      OPENAI_COMPATIBLE_API_KEY: 'key',
      OPENAI_COMPATIBLE_BASE_URL: model.url,
      PATH: process.env['PATH'] ?? '',
    },
    approval,
    port: 0,
    tokens: TOKENS,
  };
  const schedule = new Schedule(t, chance, model, options, kills);
  await schedule.play();
  const { cutOff, violations, story } = schedule;
  return {
    seed,
    approval,
    model,
    workspace,
    log: await schedule.readLogs(),
    cutOff,
    violations,
    story,
  };
}

/** An MCP server whose tool leaves a line in the journal. */
function notingServer(workspace: string): McpServer {
  const server = new McpServer({ name: 'noting', version: '1.0.0' });
  server.registerTool(
    'note',
    { description: 'Notes a number', inputSchema: z.object({ number: z.number() }) },
    ({ number }) => {
      const files = readdirSync(workspace).filter((name) => name.startsWith('w-'));
      const edits = readFileSync(join(workspace, 'edits.txt'), 'utf8').replaceAll('\n', ',');
      const line = (name: string) => `${name} files=${files.join(' ')} edits=${edits}\n`;
      appendFileSync(join(workspace, 'journal.txt'), line(`${number}`) + line(`${number}.end`));
      return { content: [{ type: 'text', text: `noted ${number}` }] };
    },
  );
  return server;
}

/** One process' life, from its start to its end. */
interface Life {
  readonly host: Host & { kill?(): Promise<void> };
  readonly people: People;
}

class Schedule {
  readonly cutOff: number[] = [];
  readonly violations: string[] = [];
  readonly story: string[] = [];
  readonly #t: TestContext;
  readonly #chance: Chance;
  readonly #model: ModelServer;
  readonly #kills: boolean;
  #options: HostOptions;
  #life!: Life;
  #taskId = '';
  #state = 'submitted';
  /** How many events were seen, and what is done when so many were. */
  #events = 0;
  #due: { readonly at: number; readonly prompt: string; readonly act: () => void }[] = [];
  readonly #prompted = new Set<string>();
  readonly #asked = new Map<string, number>();
  readonly #doing = new Set<Promise<unknown>>();
  #restarting: Promise<void> | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(
    t: TestContext,
    chance: Chance,
    model: ModelServer,
    options: HostOptions,
    kills: boolean,
  ) {
    this.#t = t;
    this.#chance = chance;
    this.#model = model;
    this.#options = options;
    this.#kills = kills;
  }

  async play(): Promise<void> {
    await this.#begin();
    const turns = 2 + this.#chance.below(2, 'turns');
    for (let turn = 1; turn <= turns; turn++) await this.#turn(turn);
    await this.#settled();
    await this.#life.host.terminal.prompt(LAST_PROMPT);
    await this.#until(() => this.#prompted.has(LAST_PROMPT) && this.#isIdle);
    await this.#settled();
  }

  async #turn(turn: number): Promise<void> {
    const chance = this.#chance;
    const text = `prompt ${turn}`;
    const { people } = this.#life;
    const speaker = chance.pick([...people.approvers, people.bot], 'speaker', turn);
    const life = this.#life;
    this.#tell(`${speaker.name}: ${text}`);
    await this.#send(() => speaker.prompt(text));
    if (chance.at('more', turn) < 0.3) {
      this.#at('more', turn, 4, () => {
        this.#tell(`phone: ${text} and more`);
        this.#do(this.#life.people.phone.prompt(`${text} and more`));
      });
    }
    if (chance.at('cancel', turn) < 0.4) {
      this.#at('cancel', turn, 25, () => {
        const { approvers, bot } = this.#life.people;
        const who = chance.pick([...approvers, bot], 'canceler', turn);
        this.#tell(`${who.name} cancels`);
        this.#do(who.cancel());
      });
    }
    if (this.#kills && chance.at('kill', turn) < 0.6) {
      this.#at('kill', turn, 25, () => {
        this.#restarting ??= this.#restart(turn);
      });
    }
    await this.#until(() => this.#isIdle && (this.#prompted.has(text) || this.#life !== life));
    this.#due = [];
    await this.#restarting;
    // A cancellation that is still under way would drop the next prompt.
    await this.#settled();
  }

  /** Notes what happens, for a person who looks into a failure. */
  #tell(line: string): void {
    this.story.push(line);
    if (process.env['PARLEY_SEED'] !== undefined) process.stderr.write(`${line}\n`);
  }

  /** Does something after so many more events, at most. A cancellation would drop a prompt that is still queued. */
  #at(what: string, turn: number, most: number, act: () => void): void {
    const at = this.#events + this.#chance.below(most, what, 'at', turn);
    this.#due.push({ at, prompt: `prompt ${turn}`, act });
  }

  /** Tries until it is taken: over HTTP, a turn that has just begun refuses others. */
  async #send(prompt: () => Promise<unknown>): Promise<void> {
    for (let tries = 0; tries < 100; tries++) {
      try {
        await prompt();
        return;
      } catch {
        await wait(20);
      }
    }
  }

  #do(doing: Promise<unknown>): void {
    const done = doing
      .catch(() => undefined)
      .finally(() => {
        this.#doing.delete(done);
        this.#change();
      });
    this.#doing.add(done);
  }

  #settled(): Promise<void> {
    return this.#until(() => this.#doing.size === 0);
  }

  get #isIdle(): boolean {
    return (
      this.#restarting === undefined && /^(completed|failed|canceled|submitted)$/.test(this.#state)
    );
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#changed.promise;
  }

  #change(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }

  async #begin(): Promise<void> {
    const host = this.#kills
      ? await startHost(this.#t, this.#options)
      : await openHost(this.#options);
    if (!this.#kills) this.#t.after(() => host.close());
    const people = await gather(this.#t, host.url, host.terminal, () => this.#taskId);
    this.#t.after(() => people.close());
    this.#options = {
      ...this.#options,
      port: Number(new URL(host.url).port),
      resume: host.sessionId,
    };
    const life = { host, people };
    this.#life = life;
    const first = Promise.withResolvers<void>();
    void this.#read(life, first.resolve);
    await first.promise;
  }

  async #restart(turn: number): Promise<void> {
    const { host, people } = this.#life;
    await wait(this.#chance.below(40, 'kill', turn));
    this.#tell('killed');
    this.cutOff.push(this.#model.responses);
    await host.kill?.();
    people.close();
    await this.#begin();
    this.#tell('started again');
    this.#restarting = undefined;
    this.#change();
  }

  async #read(life: Life, begun: () => void): Promise<void> {
    try {
      for await (const item of life.people.reader.items()) {
        if (life !== this.#life) return;
        this.#take(item);
        if (item.kind === 'snapshot') begun();
        this.#change();
      }
    } catch {
      // Its process was killed.
    }
  }

  #take(item: LiveItem): void {
    if (item.kind === 'snapshot') {
      const { snapshot } = item;
      this.#taskId = snapshot.taskId;
      this.#state = snapshot.task.status.state;
      for (const task of [...(snapshot.earlier ?? []), snapshot.task]) {
        for (const fact of readTask(task)) this.#hear(fact);
      }
      for (const call of snapshot.pending) this.#react(call);
    } else if (item.kind === 'event' && item.event.kind === 'status-update') {
      this.#state = item.event.status.state;
      this.#events++;
      this.#tell(`${outline(item.event)} ${callIn(item.event)?.tool_call_id ?? ''}`);
      for (const fact of readStatus(item.event).facts) {
        this.#hear(fact);
        if (fact.kind === 'call' && isAwaitingAnswer(fact.call)) this.#react(fact.call);
      }
      const due = this.#due.filter(
        ({ at, prompt }) => at <= this.#events && this.#prompted.has(prompt),
      );
      this.#due = this.#due.filter((each) => !due.includes(each));
      for (const { act } of due) act();
    }
  }

  #hear(fact: Fact): void {
    if (fact.kind === 'prompt') this.#prompted.add(textOf([...fact.parts]));
  }

  /** Some answer at once, with whatever they like; one who may not approve tries to; and in the end it is answered. */
  #react(call: ToolCall): void {
    const { people } = this.#life;
    const chance = this.#chance;
    const id = call.tool_call_id;
    const times = (this.#asked.get(id) ?? 0) + 1;
    this.#asked.set(id, times);
    const answers: Promise<unknown>[] = [];
    for (const person of people.approvers) {
      if (chance.at('answers', id, times, person.name) > 0.4) continue;
      const answer = answerFor(call, chance, `${id} ${times} ${person.name}`, person.name);
      answers.push(
        wait(chance.below(15, 'late', id, times, person.name)).then(async () => {
          await person.answer(call, answer);
          this.#tell(`${person.name}: ${id} ${JSON.stringify(answer)}`);
        }),
      );
    }
    for (const person of [people.bot, people.wall]) {
      if (chance.at('tries', id, times, person.name) > 0.3) continue;
      const tried = person.answer(call, answerFor(call, chance, id, person.name));
      answers.push(
        tried.then(() => this.violations.push(`${person.name} answered ${id}, and may not`)),
      );
    }
    const sure = () => people.phone.answer(call, { option: firstOption(call) });
    this.#do(Promise.allSettled(answers).then(sure));
  }

  /** The logs of all tasks of the session, as an ordinary client reads them. */
  async readLogs(): Promise<Entry[]> {
    const { url, sessionId } = this.#life.host;
    const get = async (path: string): Promise<unknown> => {
      const headers = {
        authorization: 'Bearer token-of-wall',
        'x-a2a-extensions': EXTENSION_URI,
      };
      const response = await fetch(url + path, { headers });
      assert.equal(response.status, 200, path);
      return response.json();
    };
    const { tasks } = Tasks.parse(await get(`/v1/tasks?contextId=${sessionId}&pageSize=100`));
    const log: Entry[] = [];
    for (const { id: taskId } of tasks.toReversed()) {
      for (let after = 0, more = true; more;) {
        const page = (await get(`/v1/tasks/${taskId}/events?after=${after}`)) as {
          readonly events: readonly Omit<Entry, 'taskId'>[];
        };
        for (const { seq, event } of page.events) log.push({ taskId, seq, event });
        more = page.events.length > 0;
        after = page.events.at(-1)?.seq ?? after;
      }
    }
    return log;
  }
}

const Tasks = z.looseObject({ tasks: z.array(z.looseObject({ id: z.string() })) });

function firstOption(call: ToolCall): string {
  const options = call.confirmation_request?.options ?? [];
  const found = options.find(({ id }) => id !== 'answer' && id !== 'modify') ?? options[0];
  return found?.id ?? 'cancel';
}

function answerFor(call: ToolCall, chance: Chance, key: string, name: string): Answer {
  const share = chance.at('answer', key);
  const mark = key.replaceAll(' ', '-');
  if (!hasOption(call, 'proceed_once')) {
    if (name === 'script' && share < 0.4) return { option: '', words: `words-${mark}` };
    const options = call.confirmation_request!.options.filter(({ id }) => id !== 'answer');
    return { option: chance.pick(options, 'option', key).id };
  }
  const beside = share < 0.3 && { beside: `beside-${mark}` };
  if (share < 0.55) return { option: 'proceed_once', ...beside };
  if (share < 0.65) return { option: 'cancel' };
  if (share < 0.8) return { option: 'cancel', reason: `because-${mark}` };
  if (name === 'script') return { option: '', words: share < 0.9 ? 'yes' : `rather-${mark}` };
  // Other content for the file that all edits share would undo those before.
  return hasOption(call, 'modify') && call.tool_name === 'write_file'
    ? { option: 'modify', content: `modified ${mark}\n` }
    : { option: 'proceed_once' };
}

/** The host in a process of its own. */
async function startHost(
  t: TestContext,
  options: HostOptions,
): Promise<Host & { kill(): Promise<void> }> {
  const child: ChildProcess = fork(
    join(import.meta.dirname, 'process.ts'),
    [JSON.stringify(options)],
    {
      execArgv: ['--conditions=parley-source'],
      env: {
        ...options.environment,
        NODE_COMPILE_CACHE: join(tmpdir(), 'parley-test-compile-cache'),
      },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );
  const gone = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  const opened = Promise.withResolvers<{ url: string; sessionId: string }>();
  void gone.then(() => opened.reject(new Error('the session has not opened')));
  opened.promise.catch(() => undefined);
  const waiting = new Map<number, PromiseWithResolvers<void>>();
  child.on('message', (message: Said) => {
    if (message.url !== undefined && message.sessionId !== undefined) {
      opened.resolve({ url: message.url, sessionId: message.sessionId });
    } else if (message.error === undefined) waiting.get(message.id ?? 0)?.resolve();
    else waiting.get(message.id ?? 0)?.reject(new Error(message.error));
  });
  void gone.then(() => {
    for (const each of waiting.values()) each.reject(new Error('killed'));
  });
  let last = 0;
  const tell = (what: keyof AtTerminal, given?: unknown): Promise<void> => {
    const id = ++last;
    const answer = Promise.withResolvers<void>();
    if (!child.connected) return Promise.reject(new Error('killed'));
    waiting.set(id, answer);
    child.send({ id, what, with: given });
    return answer.promise;
  };
  const { url, sessionId } = await opened.promise;
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  return {
    url,
    sessionId,
    terminal: {
      prompt: (text) => tell('prompt', text),
      confirm: (confirmation) => tell('confirm', confirmation),
      cancel: () => tell('cancel'),
    },
    kill,
    close: kill,
  };
}

interface Said {
  readonly url?: string;
  readonly sessionId?: string;
  readonly id?: number;
  readonly error?: string;
}
