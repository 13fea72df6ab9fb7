/** Conversations with a coding agent whose model records what it is asked. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ModelRequest } from '../../src/agent/model.ts';
import { scriptedModel, type ScriptedResponse } from '../../src/agent/models/scripted.ts';
import {
  AnswerReader,
  eventIn,
  ExecuteSlashCommandResponse,
  readStatus,
  readTask,
} from '../../src/protocol/development-tool/index.ts';
import { textOf, type Message, type StreamEvent, type Task } from '../../src/protocol/index.ts';
import {
  callIn,
  confirmation,
  makePlace,
  rpc,
  startCoder,
  stream,
  userMessage,
  type Place,
  type StartOptions,
} from './support.ts';

export interface Turn {
  readonly events: readonly StreamEvent[];
  readonly taskId: string;
  readonly contextId: string;
  /** The answer, or else what the closing event says. */
  readonly text: string;
  readonly state: string;
  /** What the closing event says went wrong. */
  readonly error: string | undefined;
}

export interface Talk {
  readonly url: string;
  readonly stop: () => Promise<void>;
  readonly place: Place;
  readonly requests: ModelRequest[];
  /** In one conversation, each time in a new task unless told. */
  readonly say: (text: string, more?: Partial<Message>) => Promise<Turn>;
  readonly answer: (turn: Turn, option: string) => Promise<Turn>;
  readonly execute: (
    path: readonly string[],
    args?: string,
    contextId?: string,
  ) => Promise<ExecuteSlashCommandResponse>;
}

export async function begin(
  t: TestContext,
  script: readonly ScriptedResponse[] = [],
  { place = makePlace(t), ...more }: StartOptions & { readonly place?: Place } = {},
): Promise<Talk> {
  const requests: ModelRequest[] = [];
  const model = scriptedModel(script, { onRequest: (request) => requests.push(request) });
  const started = await startCoder(t, place, { model, ...more });
  const { url } = started;
  let contextId: string | undefined;
  const send = async (message: Message): Promise<Turn> => {
    const turn = turnOf(await stream(url, message));
    contextId ??= turn.contextId;
    return turn;
  };
  return {
    url,
    stop: () => started.stop(),
    place,
    requests,
    say: (text, fields = {}) =>
      send(userMessage(text, { ...(contextId !== undefined && { contextId }), ...fields })),
    answer(turn, option) {
      const call = turn.events.map(callIn).findLast((each) => each !== undefined);
      const answer = { tool_call_id: call?.tool_call_id, selected_option_id: option };
      return send(confirmation(turn.taskId, answer));
    },
    async execute(path, args = '', inContext) {
      const params = { command_path: path, args, ...(inContext && { contextId: inContext }) };
      const { result, error } = await rpc(url, 'command/execute', params);
      assert.equal(error, undefined);
      return ExecuteSlashCommandResponse.parse(result);
    },
  };
}

export function turnOf(events: readonly StreamEvent[]): Turn {
  const last = events.at(-1);
  assert.ok(last?.kind === 'status-update' && last.final);
  const answer = new AnswerReader();
  for (const event of events) {
    if (event.kind === 'status-update')
      for (const fact of readStatus(event).facts) answer.take(fact);
  }
  return {
    events,
    taskId: last.taskId,
    contextId: last.contextId,
    text: textOf(last.status.message?.parts ?? []) || answer.text,
    state: last.status.state,
    error: eventIn(last.metadata)?.error,
  };
}

/** The answer in a task, as a client with the extension gets it. */
export function answerIn(task: Task | undefined): string {
  const answer = new AnswerReader();
  for (const fact of task ? readTask(task) : []) answer.take(fact);
  return answer.text;
}

/** What the model was told, as JSON. */
export const heard = (request: ModelRequest | undefined): string =>
  JSON.stringify(request?.messages);
export const writes = (path: string, content: string): ScriptedResponse => [
  { call: { name: 'write_file', args: { path, content } } },
];

/** The user's settings.json. */
export function settings(place: Place, value: object): void {
  mkdirSync(join(place.home, 'config'), { recursive: true });
  writeFileSync(join(place.home, 'config', 'settings.json'), JSON.stringify(value));
}
