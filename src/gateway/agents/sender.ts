/**
 * The sender of a task's last message, and the parts of the request that are forwarded to the agent. Both are stored
 * with the task's link (task-links.ts). If the task is resumed after a restart, the same caller is charged, and the
 * agent gets the same headers and metadata. The headers and the metadata are stored encrypted. They can be read after
 * the restart only if the encryption key is still the same (PARLEY_SECRET_KEY, or a key file).
 */
import * as z from 'zod';
import { defined } from '../../base/index.ts';
import { A2AError, type Metadata } from '../../protocol/index.ts';
import type { ExecutionContext, RequestContext } from '../../tasks/index.ts';
import { Caller } from '../api/caller.ts';
import { StoredCaller } from '../tasks/task-caller.ts';
import type { Attribution } from '../telemetry/attribution.ts';
import { HeaderValue } from './config.ts';
import type { RemoteAgent } from './remote.ts';

/**
 * Limits of the accepted output modes, and of the length of a request's metadata as JSON. The limits are low, because
 * the modes and the metadata are stored for three months, possibly longer than the task.
 */
const MAX_MODES = 100;
const MAX_MODE_CHARS = 256;
const MAX_METADATA_CHARS = 2 ** 18;

/** The part of a sender that is stored unencrypted. Only the headers and the metadata are encrypted. */
export const StoredSender = StoredCaller.extend({
  /**
   * The agent's extensions that the first message of the task activated. They apply to the whole task, because the
   * format of the agent's events depends on them.
   */
  extensions: z.array(z.string()).readonly().optional(),
  acceptedOutputModes: z.array(z.string()).readonly().optional(),
});

export type SenderHeaders = Readonly<Record<string, string>>;
export type Sender = Readonly<z.infer<typeof StoredSender>> & {
  readonly headers?: SenderHeaders | undefined;
  /** The metadata of the request. It is stored only if the message may be sent again after a crash. */
  readonly metadata?: Metadata | undefined;
};

/** Returns the sender of the context's message. `before` is the sender of the task's previous message. */
export function senderOf(
  context: ExecutionContext,
  agent: RemoteAgent,
  offered: readonly string[],
  before: Sender | undefined,
): Sender {
  const { user, acceptedOutputModes, metadata } = context;
  const extensions = before
    ? before.extensions
    : context.extensions.filter((uri) => offered.includes(uri));
  return {
    ...(user instanceof Caller && {
      keyId: user.keyId,
      keyName: user.keyName,
      subject: user.subject,
    }),
    ...(extensions && extensions.length > 0 && { extensions }),
    acceptedOutputModes,
    headers: forwardedHeaders(context, agent),
    metadata,
  };
}

/**
 * Returns the caller who is charged for the call. After a restart, this is the sender that was stored with the task.
 */
export function callerOf(
  { user }: Pick<RequestContext, 'user'>,
  { keyId, keyName, subject }: Sender = {},
): Attribution['caller'] {
  return user instanceof Caller ? user : { workspace: user?.id ?? '', keyId, keyName, subject };
}

/** Returns the request headers that are forwarded to the agent, or undefined if there are none. */
function forwardedHeaders(
  { user }: Pick<RequestContext, 'user'>,
  { forwardHeaders }: RemoteAgent,
): SenderHeaders | undefined {
  if (forwardHeaders.length === 0 || !(user instanceof Caller)) return undefined;
  const sent = forwardHeaders.map((name) => [name, user.headers?.[name]] as const);
  const found = defined(Object.fromEntries(sent));
  return Object.keys(found).length === 0 ? undefined : found;
}

/**
 * Returns the stored headers that may still be forwarded to the agent, or undefined if there are none. The operator may
 * have removed some names from `forwardHeaders` since the message was sent.
 */
export function listedHeaders(
  { headers = {} }: Sender,
  { forwardHeaders }: RemoteAgent,
): SenderHeaders | undefined {
  const listed = Object.entries(headers).filter(([name]) => forwardHeaders.includes(name));
  return listed.length === 0 ? undefined : Object.fromEntries(listed);
}

/**
 * Throws `invalidParams` if a header, the output modes or the metadata of the request cannot be forwarded to the agent.
 */
export function checkPassedOn(context: RequestContext, agent: RemoteAgent): void {
  const { acceptedOutputModes: modes = [], metadata } = context;
  if (metadata && JSON.stringify(metadata).length > MAX_METADATA_CHARS) {
    throw new A2AError(
      'invalidParams',
      `metadata: at most ${MAX_METADATA_CHARS} characters as JSON can be passed on to the agent ${agent.name}`,
    );
  }
  if (modes.length > MAX_MODES || modes.some((mode) => mode.length > MAX_MODE_CHARS)) {
    throw new A2AError(
      'invalidParams',
      `configuration.acceptedOutputModes: at most ${MAX_MODES} types of at most ${MAX_MODE_CHARS} characters`,
    );
  }
  for (const [name, value] of Object.entries(forwardedHeaders(context, agent) ?? {})) {
    if (HeaderValue.safeParse(value).success) continue;
    throw new A2AError(
      'invalidParams',
      `The header ${name} cannot be passed on to the agent ${agent.name}: its value must be printable ASCII of at most 8192 characters`,
    );
  }
}
