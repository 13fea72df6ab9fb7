/**
 * Describes to callers why a call to an agent failed. The description has one line of text without the agent's
 * addresses, and a machine-readable reason. The reason starts with `AGENT_` if the agent or the connection to it
 * failed, and with `GATEWAY_` if the gateway stopped the call (OwnFailure).
 */
import { AddressError } from '../../base/net/index.ts';
import {
  ConnectionError,
  quote,
  RemoteAgentError,
  StreamInterruptedError,
} from '../../client/index.ts';
import { A2AError } from '../../protocol/index.ts';

const MAX_LINE = 300;

/** Describes the error in one line. `hidden` are the agent's addresses, which the line must not contain. */
export function failureLine(error: unknown, agent: string, hidden: readonly string[]): string {
  return quote(withoutAddresses(lineOf(error, `The agent ${agent}`), hidden), 2 * MAX_LINE);
}

export const WEB_ADDRESS = /\b(?:https?|wss?):\/\/(?:\[[\da-f:.]*\])?[^\s"'<>)\]},]*/gi;

/** Replaces all web addresses, and every host that `hostsOf` returns for the `hidden` addresses. */
export function withoutAddresses(text: string, hidden: readonly string[]): string {
  let out = text.replace(WEB_ADDRESS, '(address)');
  for (const host of hostsOf(hidden)) {
    out = out.replace(
      new RegExp(host.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi'),
      '(address)',
    );
  }
  return out;
}

/**
 * Returns the hosts of the addresses, with and without the port. Leaves out a bare host name (no dot, no port), because
 * it may also be the agent's name.
 */
function hostsOf(addresses: readonly string[]): string[] {
  const hosts = addresses.flatMap((address) => {
    const { host, hostname } = new URL(address);
    return [host, hostname];
  });
  return hosts.filter((host) => /[.:]/.test(host));
}

/** A failure of the gateway itself, not of the agent. */
export abstract class OwnFailure extends Error {
  abstract readonly reason: FailureReason;
  abstract line(agent: string): string;
}

export class LinkNotSaved extends OwnFailure {
  readonly reason = 'GATEWAY_UNAVAILABLE';
  line(agent: string): string {
    return `The gateway could not store the id of the task at the agent ${agent}, so it stopped this task. Try again later.`;
  }
}

/** Thrown if it is unknown whether the agent received the message. */
export class UnknownOutcome extends OwnFailure {
  readonly reason = 'GATEWAY_RESTARTED';
  line(agent: string): string {
    return `The gateway was restarted before the agent ${agent} answered. The message may have arrived, so it was not sent again.`;
  }
}

export type FailureReason =
  | 'AGENT_UNREACHABLE'
  | 'AGENT_TIMEOUT'
  | 'AGENT_INTERRUPTED'
  | 'AGENT_UNAUTHORIZED'
  | 'AGENT_BUSY'
  | 'AGENT_FAILED'
  | 'AGENT_REFUSED'
  | 'AGENT_INVALID_RESPONSE'
  | 'AGENT_REMOVED'
  | 'GATEWAY_RESTARTED'
  | 'GATEWAY_UNAVAILABLE';

const REASONS: Readonly<Record<string, FailureReason>> = {
  timeout: 'AGENT_TIMEOUT',
  unreachable: 'AGENT_UNREACHABLE',
  interrupted: 'AGENT_INTERRUPTED',
  broken: 'AGENT_INTERRUPTED',
  unauthenticated: 'AGENT_UNAUTHORIZED',
  forbidden: 'AGENT_UNAUTHORIZED',
  unavailable: 'AGENT_BUSY',
  rateLimited: 'AGENT_BUSY',
  internal: 'AGENT_FAILED',
};

/** If the agent has not sent any event, these reasons mean that it has done no work for the message. */
const BEFORE_WORK: ReadonlySet<FailureReason> = new Set([
  'AGENT_UNREACHABLE',
  'AGENT_UNAUTHORIZED',
  'AGENT_BUSY',
  'AGENT_REFUSED',
]);

/**
 * Returns whether the agent has done no work for the message. The result is valid only if the agent has not sent any
 * event.
 */
export function isBeforeWork(error: unknown): boolean {
  return BEFORE_WORK.has(failureReason(error));
}

/** Returns the reason of a failure. */
export function failureReason(error: unknown): FailureReason {
  if (error instanceof OwnFailure) return error.reason;
  const known = REASONS[failureWord(error)];
  if (known) return known;
  const refused = error instanceof A2AError && error.kind !== 'invalidAgentResponse';
  return refused ? 'AGENT_REFUSED' : 'AGENT_INVALID_RESPONSE';
}

/** Returns the failure as one word, for metrics. */
export function failureWord(error: unknown): string {
  if (error instanceof RemoteAgentError) return error.code.replace('remote-', '');
  if (error instanceof StreamInterruptedError) return isTimeout(error) ? 'timeout' : 'interrupted';
  if (error instanceof ConnectionError)
    return isClosedAddress(error) ? 'unreachable' : error.reason;
  return error instanceof A2AError ? error.kind : 'internal';
}

function lineOf(error: unknown, agent: string): string {
  if (error instanceof RemoteAgentError) return `${agent} failed: ${error.message}.`;
  if (error instanceof StreamInterruptedError) {
    if (error.taskId !== undefined) {
      return `The connection to ${lower(agent)} broke and could not be restored.`;
    }
    const how = isTimeout(error)
      ? `${agent} did not answer in time.`
      : `The connection to ${lower(agent)} broke before the agent answered.`;
    return `${how} The message may have arrived, so it was not sent again.`;
  }
  if (error instanceof ConnectionError) return connectionLine(error, agent);
  if (!(error instanceof A2AError)) return `${agent} failed.`;
  if (error.kind === 'unauthenticated' || error.kind === 'forbidden') {
    return `${agent} does not accept the gateway's credentials.`;
  }
  const said = quote(error.message, MAX_LINE);
  if (error.kind === 'unavailable' || error.kind === 'rateLimited') {
    const { retryAfterSeconds: seconds } = error.detail;
    const when = seconds === undefined ? 'later' : `in ${seconds} s`;
    return `${agent} is busy or unavailable. Try again ${when}: ${said}`;
  }
  if (error.kind === 'internal') return `${agent} failed: ${said}`;
  if (error.kind === 'invalidAgentResponse') return `${agent} violated the protocol: ${said}`;
  return `${agent} refused the request: ${said}`;
}

function isTimeout({ cause }: StreamInterruptedError): boolean {
  return cause instanceof ConnectionError && cause.reason === 'timeout';
}

/** The descriptions of failed connections, by the reason of the ConnectionError. */
const CONNECTION_LINES: Readonly<Record<string, (agent: string) => string>> = {
  timeout: (agent) => `${agent} did not answer in time.`,
  untrusted: (agent) =>
    `${agent} cannot be used: its card refers to another origin. If you trust this origin, add it to allowOrigins.`,
  redirect: (agent) =>
    `${agent} redirects to another address. The gateway does not follow this redirect.`,
  card: (agent) => `${agent} has no readable card.`,
  interface: (agent) => `${agent} has no interface that the gateway supports.`,
  broken: (agent) => `The connection to ${lower(agent)} broke.`,
};

function connectionLine(error: ConnectionError, agent: string): string {
  if (isClosedAddress(error)) {
    return `${agent} is unreachable: its address is in a network that is not allowed for registered agents.`;
  }
  const line = CONNECTION_LINES[error.reason];
  return line ? line(agent) : `${agent} is unreachable${whyUnreachable(error)}.`;
}

/** Returns whether the network guard has refused the agent's address. */
function isClosedAddress(error: ConnectionError): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof AddressError) return true;
  }
  return false;
}

function whyUnreachable(error: ConnectionError): string {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') return ` (${cause.code})`;
  }
  return '';
}

function lower(agent: string): string {
  return agent.replace('The', 'the');
}
