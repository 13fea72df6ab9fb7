/** One line and an exit code for whatever may go wrong between us and an agent. */
import { reasonOf } from '../../base/index.ts';
import { ConnectionError, StreamInterruptedError } from '../../client/index.ts';
import { A2AError, type ErrorKind } from '../../protocol/index.ts';
import { EXIT } from './exit.ts';
import { quoted, word } from './terminal.ts';

/** What to do next, by what the agent said. */
const NEXT: Partial<Record<ErrorKind, string>> = {
  taskNotFound: 'check the id, parley list URL shows yours',
  taskNotCancelable: 'parley get URL TASK shows how it ended',
  unsupportedOperation: 'start a new task, or see parley card URL for what the agent can do',
  methodNotFound: 'try --a2a-version with the other version',
  versionNotSupported: 'try --a2a-version with the other version',
  contentTypeNotSupported: 'parley card URL shows what the agent takes',
  extensionRequired: 'name it with --extension URI, parley card URL lists them',
  unauthenticated: "give credentials with --header 'Authorization: Bearer …'",
  forbidden: 'these credentials may not do this: use others',
  rateLimited: 'wait a little and try again',
  unavailable: 'wait a little and try again',
  internal: "the agent's log has the cause",
  invalidAgentResponse: 'parley card URL --verify checks the agent',
};

export function explain(error: unknown): { readonly code: number; readonly line: string } {
  if (error instanceof StreamInterruptedError) {
    const { taskId, lastSeq } = error;
    const after = lastSeq === undefined ? '' : ` --after ${lastSeq}`;
    const next =
      taskId === undefined ? 'send it again' : `parley watch URL ${quoted(taskId)}${after}`;
    return { code: EXIT.unreachable, line: `${word(error.message)}: go on with ${next}` };
  }
  if (error instanceof ConnectionError) {
    return { code: EXIT.unreachable, line: `${word(error.message)}: ${nextStep(error)}` };
  }
  if (error instanceof A2AError) {
    const settled = error.detail.reason === 'ALREADY_RESOLVED';
    const next = settled
      ? 'parley get URL TASK shows what came of it'
      : (NEXT[error.kind] ?? 'check what was sent');
    return { code: EXIT.failed, line: `${word(error.message)} (${error.code}): ${next}` };
  }
  if (process.env['PARLEY_LOG_LEVEL'] === 'debug' && error instanceof Error && error.stack) {
    process.stderr.write(`${error.stack}\n`);
  }
  return {
    code: EXIT.failed,
    line: `unexpected: ${reasonOf(error)} (PARLEY_LOG_LEVEL=debug shows where)`,
  };
}

function nextStep({ reason }: ConnectionError): string {
  switch (reason) {
    case 'unreachable':
      return 'is the agent running, and the address right?';
    case 'card':
      return "is this an A2A agent's address?";
    case 'interface':
      return 'try without --a2a-version';
    case 'redirect':
      return 'use the address that it leads to';
    case 'timeout':
      return 'try again, or use --stream for what takes long';
    default:
      return 'try again';
  }
}
