/** The live session of the program, as `parley --a2a-port` opens it, with one who sits at the terminal. */
import type { SessionStore } from '../../../src/agent/index.ts';
import { openLiveSession } from '../../../src/cli/coder/live-session.ts';
import { openSessions } from '../../../src/cli/coder/setup.ts';
import { localSession } from '../../../src/cli/coder/stored-sessions.ts';
import { storeLocation } from '../../../src/cli/program/store-location.ts';
import type { Live, LiveToken } from '../../../src/live/index.ts';
import type { ApprovalMode } from '../../../src/coder/index.ts';
import type { ToolCallConfirmation } from '../../../src/protocol/development-tool/index.ts';
import { MODEL } from './model.ts';

export interface HostOptions {
  readonly workspace: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly approval: ApprovalMode;
  readonly port: number;
  readonly tokens: readonly LiveToken[];
  readonly resume?: string | undefined;
}

/** What a person at the terminal does. */
export interface AtTerminal {
  prompt(text: string): Promise<unknown>;
  confirm(confirmation: ToolCallConfirmation): Promise<unknown>;
  cancel(): Promise<unknown>;
}

export interface Host {
  readonly url: string;
  readonly sessionId: string;
  readonly terminal: AtTerminal;
  close(): Promise<void>;
}

export async function openHost(options: HostOptions): Promise<Host & { readonly live: Live }> {
  const { workspace, environment, approval, port, tokens, resume } = options;
  const place = storeLocation({ store: undefined }, environment, 'sessions');
  const sessions: SessionStore = await openSessions(place);
  // A process that was killed before its first turn has left no session.
  const resumes = resume !== undefined && (await sessions.get(localSession(resume))) !== undefined;
  const silent = { debug() {}, info() {}, warn() {}, error() {}, flush: async () => {} };
  const opened = await openLiveSession({
    values: { model: MODEL, approval, sandbox: false },
    environment,
    roots: [workspace],
    place,
    sessions,
    resume: resumes ? resume : undefined,
    address: { port, host: '127.0.0.1', tokens },
    log: silent,
  });
  const member = opened.live.join({ kind: 'terminal' });
  return {
    live: opened.live,
    url: opened.url!,
    sessionId: opened.sessionId,
    terminal: {
      prompt: async (text) => (await member.prompt(text)).queued,
      confirm: (confirmation) => member.confirm(confirmation),
      cancel: () => member.cancel(),
    },
    async close() {
      await opened.close();
      await sessions.close();
    },
  };
}
