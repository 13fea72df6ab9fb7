/** Clients of a live session that leave and come back, each in its own protocol, and what each has seen. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { RequestPermissionResponse } from '@agentclientprotocol/sdk';
import { createSseParser } from '../../src/client/connection/sse.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { reduce, type Task, type TaskEvent } from '../../src/protocol/index.ts';
import { editorAt, type Editor } from '../acp/support.ts';
import { RawClient } from './raw-client.ts';
import type { Program } from './program.ts';

/** One who takes part, and may be away. */
export interface Participant {
  readonly name: string;
  readonly here: boolean;
  prompt(text: string): Promise<void>;
  /** Whether the answer counted. */
  answer(callId: string, option: string): Promise<boolean>;
  leave(): Promise<void>;
  rejoin(): Promise<void>;
}

/** A log as one client puts it together, from snapshots and events. */
export class Log {
  task: Task | undefined;
  seq = -1;
  #waiting: (() => void)[] = [];
  #failure: Error | undefined;

  /** Begins again with a whole task. */
  open(task: Task, seq: number): void {
    this.task = reduce(undefined, task);
    this.seq = seq;
    this.#wake();
  }

  take(event: TaskEvent, seq: number): void {
    assert.equal(seq, this.seq + 1, 'each event comes once, in its order');
    this.task = reduce(this.task, event);
    this.seq = seq;
    this.#wake();
  }

  async reach(seq: number): Promise<void> {
    while (this.seq < seq && !this.#failure) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#failure) throw this.#failure;
  }

  /** For whoever waits for it. */
  fail(error: Error): void {
    this.#failure = error;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** A WebSocket that speaks A2A. Comes back behind the last event, or for a new snapshot. */
export class SocketClient implements Participant {
  readonly name: string;
  readonly log = new Log();
  readonly #t: TestContext;
  readonly #program: Program;
  readonly #resumes: () => boolean;
  #client: RawClient | undefined;
  #read = 0;

  constructor(t: TestContext, program: Program, name: string, resumes: () => boolean) {
    this.name = name;
    this.#t = t;
    this.#program = program;
    this.#resumes = resumes;
  }

  get here(): boolean {
    return this.#client !== undefined;
  }

  get frames(): RawClient['frames'] {
    return this.#client?.frames ?? [];
  }

  async rejoin(): Promise<void> {
    const { task, seq } = this.log;
    const query = new URLSearchParams({ name: this.name });
    if (task && this.#resumes()) {
      query.set('after', `${seq}`);
      query.set('task', task.id);
    }
    const client = new RawClient(this.#t, `${this.#program.ws}?${query.toString()}`, 'a2a');
    this.#client = client;
    this.#read = 0;
    client.socket.on('message', () => this.#take(client));
    await client.opened;
    await this.log.reach(0);
  }

  #take(client: RawClient): void {
    for (const { method, params } of client.frames.slice(this.#read)) {
      this.#read++;
      if (client !== this.#client) return;
      if (method === 'session/snapshot') this.log.open(params.task, params.seq);
      if (method === 'tasks/event') this.log.take(params.event, params.seq);
    }
  }

  async leave(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    client?.socket.terminate();
    await client?.closed;
  }

  async prompt(text: string): Promise<void> {
    await this.#client?.say(text);
  }

  async answer(callId: string, option: string): Promise<boolean> {
    const confirmation = { tool_call_id: callId, selected_option_id: option };
    const answered = await this.#client?.ask('session/confirm', confirmation);
    return settled(answered);
  }
}

/** An ordinary client of A2A over HTTP, with an SSE stream that it takes up again by the last event's id. */
export class StreamClient implements Participant {
  readonly name = 'a2a';
  readonly log = new Log();
  readonly #url: string;
  readonly #taskId: string;
  #abort: AbortController | undefined;

  constructor({ url }: Program, taskId: string) {
    this.#url = url;
    this.#taskId = taskId;
  }

  get here(): boolean {
    return this.#abort !== undefined;
  }

  #post(
    method: string,
    params: object,
    more: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
  ): Promise<Response> {
    const { headers, signal = null } = more;
    return fetch(this.#url, {
      signal,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-a2a-extensions': EXTENSION_URI,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  }

  async rejoin(): Promise<void> {
    const abort = new AbortController();
    this.#abort = abort;
    const headers: Record<string, string> =
      this.log.seq < 0 ? {} : { 'last-event-id': `${this.log.seq}` };
    const { signal } = abort;
    const response = await this.#post(
      'tasks/resubscribe',
      { id: this.#taskId },
      { headers, signal },
    );
    // Cut off by the end of the program, or here: how far it came is what counts.
    this.#read(response, abort).catch((error: unknown) => {
      if (error instanceof assert.AssertionError) this.log.fail(error);
    });
  }

  async #read({ body }: Response, { signal }: AbortController): Promise<void> {
    const parse = createSseParser();
    for await (const chunk of body ?? []) {
      if (signal.aborted) return;
      for (const { data, id } of parse(chunk)) {
        const { result } = JSON.parse(data) as { result: TaskEvent };
        if (result.kind === 'task') this.log.open(result, Number(id ?? 0));
        else this.log.take(result, Number(id));
      }
    }
  }

  async leave(): Promise<void> {
    this.#abort?.abort();
    this.#abort = undefined;
  }

  async prompt(text: string): Promise<void> {
    await this.#send([{ kind: 'text', text }]);
  }

  async answer(callId: string, option: string): Promise<boolean> {
    const data = { tool_call_id: callId, selected_option_id: option };
    return settled(await this.#send([{ kind: 'data', data }]));
  }

  async #send(parts: object[]): Promise<{ error?: { code: number } }> {
    const message = { kind: 'message', messageId: randomUUID(), role: 'user', parts };
    const configuration = { blocking: false };
    const response = await this.#post('message/send', {
      message: { ...message, taskId: this.#taskId },
      configuration,
    });
    return (await response.json()) as { error?: { code: number } };
  }
}

/** An editor, which loads the session again when it comes back. */
export class EditorClient implements Participant {
  readonly name = 'zed';
  readonly #t: TestContext;
  readonly #program: Program;
  #editor: (Editor & { readonly socket: { terminate(): void } }) | undefined;
  #sessionId = '';
  readonly #answers = new Map<string, PromiseWithResolvers<RequestPermissionResponse>>();

  constructor(t: TestContext, program: Program) {
    this.#t = t;
    this.#program = program;
  }

  get here(): boolean {
    return this.#editor !== undefined;
  }

  get editor(): Editor {
    assert.ok(this.#editor, 'the editor is away');
    return this.#editor;
  }

  async rejoin(): Promise<void> {
    const editor = await editorAt(this.#t, this.#program.ws, ['acp']);
    this.#editor = editor;
    this.#answers.clear();
    editor.answer = ({ toolCall }) => this.#answerTo(toolCall.toolCallId).promise;
    if (this.#sessionId === '') {
      ({ sessionId: this.#sessionId } = await editor.open());
      return;
    }
    await editor.initialize();
    await editor.load(this.#sessionId);
  }

  #answerTo(callId: string): PromiseWithResolvers<RequestPermissionResponse> {
    const known = this.#answers.get(callId) ?? Promise.withResolvers();
    this.#answers.set(callId, known);
    return known;
  }

  async leave(): Promise<void> {
    this.#editor?.socket.terminate();
    this.#editor = undefined;
  }

  /** Its turn may last, and it may leave meanwhile. */
  async prompt(text: string): Promise<void> {
    this.editor.prompt(text).catch(() => undefined);
  }

  /** Whether it counts it is not told. */
  async answer(callId: string, optionId: string): Promise<boolean> {
    this.#answerTo(callId).resolve({ outcome: { outcome: 'selected', optionId } });
    return false;
  }
}

/** True for an answer that was taken; a late one has the one error that it may have. */
function settled(answered: { readonly error?: { readonly code: number } } | undefined): boolean {
  if (answered?.error) assert.equal(answered.error.code, -32004, JSON.stringify(answered.error));
  return answered !== undefined && answered.error === undefined;
}
