/** A client that was written for gemini-cli's a2a-server, by its bytes. It does not name the extension. */
import assert from 'node:assert/strict';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { userMessage } from './support.ts';

export interface Update {
  readonly kind: string;
  readonly id?: string;
  readonly taskId: string;
  readonly contextId: string;
  readonly final?: boolean;
  readonly status: {
    readonly state: string;
    readonly message?: { readonly parts: readonly Part[]; readonly role: string };
  };
  readonly metadata?: {
    readonly coderAgent?: { readonly kind: string };
    readonly model?: string;
    readonly error?: string;
  };
}

interface Part {
  readonly kind: string;
  readonly text?: string;
  readonly data?: {
    readonly subject?: string;
    readonly status?: string;
    readonly request?: { readonly callId: string; readonly name: string; readonly args: object };
    readonly confirmationDetails?: Record<string, unknown>;
    readonly response?: { readonly resultDisplay?: unknown };
  };
}

const HEADERS = { 'content-type': 'application/json' };

export async function post(
  url: string,
  method: string,
  params: object,
  headers: Record<string, string> = {},
): Promise<string> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const all = { ...HEADERS, ...headers };
  return (await fetch(url, { method: 'POST', headers: all, body })).text();
}

export async function streamed(
  url: string,
  params: object,
  headers: Record<string, string> = {},
): Promise<Update[]> {
  const text = await post(url, 'message/stream', params, headers);
  assert.ok(!text.includes(EXTENSION_URI), 'nothing of the extension is sent');
  if (text.startsWith('{')) throw new Error(text);
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => {
    const { result, error } = JSON.parse(data!) as { result: Update; error?: { message: string } };
    if (error) throw new Error(error.message);
    return result;
  });
}

/** `text-content working`, `tool-call-update executing`, `state-change input-required final`. */
export function brief({ kind, status, metadata, final }: Update): string {
  const what = metadata?.coderAgent?.kind ?? kind;
  const of = status.message?.parts[0]?.data?.status ?? status.state;
  return [what, of, final === true ? 'final' : ''].join(' ').trim();
}

export const partIn = (updates: readonly Update[], kind: string) =>
  updates.find(({ metadata }) => metadata?.coderAgent?.kind === kind)?.status.message?.parts[0];

export const textIn = (updates: readonly Update[]) =>
  updates
    .map(({ status }) => status.message?.parts.map(({ text = '' }) => text).join('') ?? '')
    .join('');

export const settings = (workspacePath: string, more: object = {}) => ({
  coderAgent: { kind: 'agent-settings', workspacePath, ...more },
});

export const answer = (at: Update, data: object) => ({
  message: userMessage([{ kind: 'data', data }], { taskId: at.taskId, contextId: at.contextId }),
});
