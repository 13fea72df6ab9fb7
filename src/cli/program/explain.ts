/** Converts an error to an exit code and one line with the next step for the user. */
import { reasonOf, StoreError } from '../../base/index.ts';
import { NoHomeError } from '../../base/system/index.ts';
import { ConnectionError, StreamInterruptedError } from '../../client/index.ts';
import { SettingsError } from '../../coder/settings/index.ts';
import { isAlreadyResolved } from '../../protocol/development-tool/index.ts';
import { A2AError, type ErrorKind } from '../../protocol/index.ts';
import { EXIT } from './exit.ts';
import { storeErrorLine } from './store-location.ts';
import { quoted, word } from './terminal.ts';

/** The next step for the user, by the reason why a connection failed. */
const RECONNECT: Partial<Record<ConnectionError['reason'], string>> = {
  unreachable: 'is the agent running, and is the address right?',
  card: 'is this the address of an A2A agent?',
  interface: 'if you gave --a2a-version, try without it; parley card URL shows the interfaces',
  untrusted: 'on the command line, use --trusted-origin ORIGIN if you trust it',
  redirect: 'use the address that it redirects to',
  timeout: 'try again; for long tasks, use parley send --stream',
};

/** The next step for the user, by the kind of error. */
const NEXT: Partial<Record<ErrorKind, string>> = {
  taskNotFound: 'check the id; parley list URL shows your tasks',
  taskNotCancelable: 'parley get URL TASK shows its state',
  unsupportedOperation: 'start a new task; parley card URL shows what the agent supports',
  methodNotFound: 'try --a2a-version with the other version',
  versionNotSupported: 'try --a2a-version with the other version',
  contentTypeNotSupported: 'parley card URL shows the input types that the agent accepts',
  extensionRequired:
    "add --extension URI (parley send) or --header 'A2A-Extensions: URI'; parley card URL lists the extensions",
  unauthenticated: "add credentials with --token T or --header 'Name: value'",
  forbidden: 'these credentials do not have permission: use other credentials',
  rateLimited: 'wait a moment and try again',
  unavailable: 'wait a moment and try again',
  internal: "see the agent's log for the cause",
  serverError: "see the agent's log for the cause",
  invalidAgentResponse: 'parley card URL --verify checks the agent',
};

export function explain(error: unknown): { readonly code: number; readonly line: string } {
  if (error instanceof StreamInterruptedError) {
    const { taskId, lastSeq } = error;
    const after = lastSeq === undefined ? '' : ` --after ${lastSeq}`;
    const next =
      taskId === undefined
        ? 'send the message again'
        : `continue with parley watch URL ${quoted(taskId)}${after}`;
    return { code: EXIT.unreachable, line: `${word(error.message)}: ${next}` };
  }
  if (error instanceof ConnectionError) {
    const next = RECONNECT[error.reason] ?? 'try again';
    return { code: EXIT.unreachable, line: `${word(error.message)}: ${next}` };
  }
  if (error instanceof A2AError) {
    const next = isAlreadyResolved(error)
      ? 'parley get URL TASK shows the result'
      : (NEXT[error.kind] ?? 'check the arguments');
    return { code: EXIT.failed, line: `${word(error.message)} (${error.code}): ${next}` };
  }
  if (error instanceof SettingsError || error instanceof NoHomeError) {
    return { code: EXIT.usage, line: error.message };
  }
  if (process.env['PARLEY_LOG_LEVEL'] === 'debug' && error instanceof Error && error.stack) {
    process.stderr.write(`${error.stack}\n`);
  }
  if (error instanceof StoreError) {
    const broke = error.code === 'full' || error.code === 'corrupt';
    return { code: broke ? EXIT.failed : EXIT.usage, line: storeErrorLine(error) };
  }
  return {
    code: EXIT.failed,
    line: `unexpected error: ${reasonOf(error)} (set PARLEY_LOG_LEVEL=debug to see the stack)`,
  };
}
