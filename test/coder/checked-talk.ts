/** Conversations with a coding agent of which every event is held against the specification. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { JsonObject } from '../../src/base/index.ts';
import type { TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import type { ToolCall } from '../../src/protocol/development-tool/index.ts';
import type { Message, StreamEvent } from '../../src/protocol/index.ts';
import { callIn, confirmation, stream, userMessage } from './support.ts';
import { begin } from './talk.ts';
import { Transcript } from './transcript.ts';

export const done: ScriptedResponse = [{ text: 'Done.' }];

export function calls(name: string, args: JsonObject): ScriptedResponse {
  return [{ call: { name, args } }];
}

export const shell = (command: string): ScriptedResponse => calls('run_shell_command', { command });

export interface AnswerFields {
  /** The only one that waits unless told. */
  readonly call?: ToolCall;
  readonly file_details?: { readonly new_content: string };
}

export async function talk(
  t: TestContext,
  script: readonly ScriptedResponse[],
  more?: Parameters<typeof begin>[2],
) {
  const session = await begin(t, script, more);
  const seen = new Transcript();
  const { url, place } = session;
  let taskId = '';

  const send = async (message: Message): Promise<StreamEvent[]> => {
    const events = seen.take(await stream(url, message));
    const last = events.at(-1);
    assert.ok(last?.kind === 'status-update');
    ({ taskId } = last);
    return events;
  };

  function onlyWaiting(): ToolCall {
    const [call, ...others] = seen.waiting;
    assert.ok(call && others.length === 0);
    return call;
  }

  return {
    ...session,
    seen,
    /** The task that was spoken to last. */
    taskId: () => taskId,
    /** A file in the workspace. */
    at: (name: string): string => join(place.workspace, name),
    /** A new task, as far as it goes by itself. */
    say: (text: string, fields: Partial<Message> = {}) => send(userMessage(text, fields)),
    /** The last task's next turn, or an answer in words. */
    goOn: (text: string) => send(userMessage(text, { taskId })),
    answer: (option: string, { call = onlyWaiting(), ...data }: AnswerFields = {}) => {
      const said = { tool_call_id: call.tool_call_id, selected_option_id: option, ...data };
      return send(confirmation(taskId, said));
    },
    onlyWaiting,
  };
}

export const lastCall = (events: readonly StreamEvent[]): ToolCall =>
  events.map(callIn).findLast((call) => call !== undefined)!;
