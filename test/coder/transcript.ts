/**
 * What a client sees of a task, held against the development-tool extension's specification: every event says what it
 * is about and is just that, every call lives one life, and a stream has one end.
 */
import assert from 'node:assert/strict';
import {
  AgentThought,
  DevelopmentToolEvent,
  EXTENSION_URI,
  ToolCall,
  ToolCallConfirmation,
  type ToolCallStatus,
} from '../../src/protocol/development-tool/index.ts';
import type { Message, StreamEvent, TaskStatusUpdateEvent } from '../../src/protocol/index.ts';

/** What may follow what. A call that is under way may have to ask: then it waits again, with a new request. */
const NEXT: Readonly<Record<ToolCallStatus | 'new', readonly ToolCallStatus[]>> = {
  new: ['PENDING'],
  STATUS_UNSPECIFIED: [],
  PENDING: ['PENDING', 'EXECUTING', 'FAILED', 'CANCELLED', 'SUCCEEDED'],
  EXECUTING: ['EXECUTING', 'SUCCEEDED', 'FAILED', 'CANCELLED'],
  SUCCEEDED: [],
  FAILED: [],
  CANCELLED: [],
};
const SETTLED = new Set(['completed', 'failed', 'canceled', 'rejected', 'input-required']);
const ENDED = new Set<ToolCallStatus>(['SUCCEEDED', 'FAILED', 'CANCELLED']);

export class Transcript {
  readonly #model: string;
  readonly #requests = new Set<string>();
  /** The calls as they stand. */
  readonly calls = new Map<string, ToolCall>();
  /** Each call's statuses in order, repetitions left out. */
  readonly lives = new Map<string, ToolCallStatus[]>();
  /** The states that ended a turn. */
  readonly ends: string[] = [];

  constructor(model = 'scripted') {
    this.#model = model;
  }

  /** Checks the events of one stream, from its beginning to its end, and returns them. */
  take<Events extends readonly StreamEvent[]>(events: Events): Events {
    for (const [at, event] of events.entries()) {
      if (event.kind === 'task') {
        assert.equal(at, 0, 'a task begins a stream');
        continue;
      }
      assert.equal(event.kind, 'status-update');
      assert.ok(event.kind === 'status-update');
      this.status(event);
      assert.equal(event.final, at === events.length - 1, 'the last event is final, and no other');
    }
    return events;
  }

  /** Checks one status update. */
  status(update: TaskStatusUpdateEvent): void {
    const { status, final } = update;
    const event = DevelopmentToolEvent.parse(update.metadata?.[EXTENSION_URI]);
    assert.equal(event.model, this.#model);
    assert.equal(final, SETTLED.has(status.state));
    const { message } = status;
    if (event.kind === 'STATE_CHANGE') {
      for (const part of message?.parts ?? []) assert.equal(part.kind, 'text');
      this.#state(status.state);
      return;
    }
    assert.equal(status.state, 'working');
    assert.ok(message, event.kind);
    const fromPerson = event.kind === 'TOOL_CALL_CONFIRMATION' || event.source !== undefined;
    assert.equal(message.role, fromPerson ? 'user' : 'agent');
    switch (event.kind) {
      case 'THOUGHT':
        AgentThought.parse(dataOf(message));
        break;
      case 'TEXT_CONTENT':
        if (message.role === 'agent') assert.ok(textIn(message) !== '');
        break;
      case 'TOOL_CALL_UPDATE':
        this.#call(ToolCall.parse(dataOf(message)), event);
        break;
      case 'TOOL_CALL_CONFIRMATION':
        for (const part of message.parts) {
          if (part.kind === 'data') ToolCallConfirmation.parse(part.data);
        }
        break;
      default:
        assert.fail(`no event is ${event.kind}`);
    }
  }

  /** The life of the only call of this tool: `PENDING EXECUTING SUCCEEDED`. */
  lifeOf(tool: string): string {
    const [found, ...others] = [...this.calls.values()].filter((call) => call.tool_name === tool);
    assert.ok(found && others.length === 0, `there is one call of ${tool}`);
    return this.lives.get(found.tool_call_id)!.join(' ');
  }

  /** The calls that wait for an answer. */
  get waiting(): ToolCall[] {
    return [...this.calls.values()].filter((call) => call.confirmation_request !== undefined);
  }

  #call(call: ToolCall, { correlationId }: DevelopmentToolEvent): void {
    const { tool_call_id: id, status, confirmation_request: request } = call;
    const before = this.calls.get(id);
    const from = before?.status ?? 'new';
    assert.ok(NEXT[from].includes(status), `${call.tool_name}: ${from} → ${status}`);
    if (before) {
      assert.equal(call.tool_name, before.tool_name);
      assert.deepEqual(call.input_parameters, before.input_parameters);
    }
    if (request) {
      assert.ok(call.correlationId !== undefined && !this.#requests.has(call.correlationId));
      assert.equal(correlationId, call.correlationId);
      this.#requests.add(call.correlationId);
    } else {
      // After its request was answered, a call may wait until the calls before it have ended.
      const waitsForTurn = before?.confirmation_request !== undefined;
      assert.ok(!before || status !== 'PENDING' || waitsForTurn, 'it waits again only to ask');
      assert.equal(correlationId, undefined);
    }
    if (ENDED.has(status)) assert.equal(call.live_content, undefined);
    this.calls.set(id, call);
    const life = this.lives.get(id) ?? [];
    if (life.at(-1) !== status) life.push(status);
    this.lives.set(id, life);
  }

  #state(state: string): void {
    if (state === 'input-required') assert.ok(this.waiting.length > 0, 'something waits');
    if (state === 'completed') {
      for (const { tool_name, status } of this.calls.values()) {
        assert.ok(ENDED.has(status), `${tool_name} is ${status} at the end of the turn`);
      }
    }
    if (SETTLED.has(state) && state !== 'input-required') this.ends.push(state);
  }
}

/** The data of a thought or a call. The images of a call follow it. */
function dataOf({ parts }: Message): unknown {
  const [part, ...images] = parts;
  assert.ok(part?.kind === 'data' && images.every(({ kind }) => kind === 'file'));
  return part.data;
}

function textIn({ parts }: Message): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}
