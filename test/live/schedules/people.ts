/** Those who take part in a schedule, each on their own wire. Some of them may not approve, and try to. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { RequestPermissionResponse } from '@agentclientprotocol/sdk';
import { joinLive } from '../../../src/live/client/join.ts';
import type { LiveSession } from '../../../src/live/client/session.ts';
import type { LiveToken } from '../../../src/live/index.ts';
import {
  EXTENSION_URI,
  type ToolCall,
  type ToolCallConfirmation,
} from '../../../src/protocol/development-tool/index.ts';
import { editorAt } from '../../acp/support.ts';
import type { AtTerminal } from './host.ts';

const ALL = ['view', 'prompt', 'approve'] as const;
export const TOKENS: readonly LiveToken[] = [
  { name: 'phone', roles: ALL, token: 'token-of-phone' },
  { name: 'script', roles: ALL, token: 'token-of-script' },
  { name: 'zed', roles: ALL, token: 'token-of-zed' },
  { name: 'bot', roles: ['prompt'], token: 'token-of-bot' },
  { name: 'wall', roles: ['view'], token: 'token-of-wall' },
];
/** The names of those who may approve. */
export const APPROVERS = ['terminal', 'phone', 'script', 'zed'];

/** An answer to a call: an option, or words. */
export interface Answer {
  readonly option: string;
  readonly words?: string;
  readonly reason?: string;
  readonly content?: string;
  /** A text part in the same message. Only HTTP can send one. */
  readonly beside?: string;
}

export interface Person {
  readonly name: string;
  prompt(text: string): Promise<unknown>;
  answer(call: ToolCall, answer: Answer): Promise<unknown>;
  cancel(): Promise<unknown>;
}

export interface People {
  readonly approvers: readonly Person[];
  readonly phone: Person;
  readonly bot: Person;
  readonly wall: Person;
  /** Reads the session. */
  readonly reader: LiveSession;
  close(): void;
}

export async function gather(
  t: TestContext,
  url: string,
  terminal: AtTerminal,
  taskId: () => string,
): Promise<People> {
  const join = (name: string) =>
    joinLive(url, { token: `token-of-${name}`, retry: { attempts: 1, delayMs: 1 } });
  const [phone, bot, wall, reader] = await Promise.all(['phone', 'bot', 'wall', 'wall'].map(join));
  assert.ok(phone && bot && wall && reader);
  const socket = (name: string, session: LiveSession): Person => ({
    name,
    prompt: (text) => session.prompt(text),
    answer: (call, answer) => session.confirm(confirmationOf(call, answer)),
    cancel: () => session.cancel(),
  });
  const sessions = [phone, bot, wall, reader];
  const atPhone = socket('phone', phone);
  return {
    phone: atPhone,
    bot: socket('bot', bot),
    wall: socket('wall', wall),
    reader,
    approvers: [
      {
        name: 'terminal',
        prompt: (text) => terminal.prompt(text),
        answer: (call, answer) => terminal.confirm(confirmationOf(call, answer)),
        cancel: () => terminal.cancel(),
      },
      atPhone,
      script(url, taskId),
      await editor(t, url),
    ],
    close() {
      for (const each of sessions) void each.close();
    },
  };
}

function confirmationOf(call: ToolCall, { option, reason, content }: Answer): ToolCallConfirmation {
  return {
    tool_call_id: call.tool_call_id,
    selected_option_id: option,
    ...(call.correlationId !== undefined && { correlationId: call.correlationId }),
    ...(reason !== undefined && { reason }),
    ...(content !== undefined && { file_details: { new_content: content } }),
  };
}

/** An ordinary client of A2A over HTTP. */
function script(url: string, taskId: () => string): Person {
  async function post(method: string, params: object): Promise<void> {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-a2a-extensions': EXTENSION_URI,
        authorization: 'Bearer token-of-script',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { error } = (await response.json()) as { error?: { message: string } };
    if (error) throw new Error(error.message);
  }
  const send = (parts: object[], more: object = { taskId: taskId() }) =>
    post('message/send', {
      message: { kind: 'message', messageId: randomUUID(), role: 'user', parts, ...more },
      configuration: { blocking: false },
    });
  return {
    name: 'script',
    // On this port, every message is part of the session.
    prompt: (text) => send([{ kind: 'text', text }], {}),
    answer(call, answer) {
      const { words, beside } = answer;
      if (words !== undefined) return send([{ kind: 'text', text: words }]);
      const data = { kind: 'data', data: confirmationOf(call, answer) };
      return send(beside === undefined ? [data] : [data, { kind: 'text', text: beside }]);
    },
    cancel: () => post('tasks/cancel', { id: taskId() }),
  };
}

/** An editor. It answers only what it was asked. */
async function editor(t: TestContext, url: string): Promise<Person> {
  const zed = await editorAt(t, `${url}/ws`, ['acp', 'token.token-of-zed']);
  const asked = new Map<string, (response: RequestPermissionResponse) => void>();
  zed.answer = ({ toolCall }) =>
    new Promise((resolve) => void asked.set(toolCall.toolCallId, resolve));
  await zed.open();
  return {
    name: 'zed',
    // The response comes when the turn is over.
    prompt: async (text) => void zed.prompt(text).catch(() => undefined),
    answer: async (call, { option }) =>
      asked.get(call.tool_call_id)?.({ outcome: { outcome: 'selected', optionId: option } }),
    cancel: () => zed.cancel(),
  };
}
