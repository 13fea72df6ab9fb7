/** The caller and the task of a call to a model or an agent. Spans and log lines contain the same ids as usage rows. */
import { defined } from '../../base/index.ts';
import { GEN_AI } from '../../base/tracing/index.ts';
import type { PayingCaller } from '../budgets/calls.ts';
import type { Attributes } from './telemetry.ts';

export interface Attribution {
  readonly caller: PayingCaller & { readonly keyName?: string | undefined };
  readonly contextId?: string | undefined;
  readonly taskId?: string | undefined;
}

/** Returns the fields for a log line. */
export function logFields({ caller, contextId, taskId }: Attribution): object {
  const { workspace, keyId, keyName, subject } = caller;
  return defined({ workspace, keyId, keyName, subject, contextId, taskId });
}

/** Returns the attributes of a span. */
export function spanAttributes({ caller, contextId, taskId }: Attribution): Attributes {
  const { workspace, keyId, keyName, subject } = caller;
  return defined({
    'parley.workspace': workspace,
    'parley.key.id': keyId,
    'parley.key.name': keyName,
    'parley.subject': subject,
    [GEN_AI.conversation]: contextId,
    'parley.task.id': taskId,
  });
}
