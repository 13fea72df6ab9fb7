/** The REST binding of both protocol versions. Its routes are made from the table of operations (`METHODS`). */
import { isObject } from '../base/index.ts';
import {
  isStream,
  A2AError,
  codecOf,
  encodeRestError,
  METHODS,
  type Operation,
  OPERATIONS,
  type ProtocolVersion,
  type User,
  VERSIONS,
} from '../protocol/index.ts';
import type { AppContext } from './context.ts';
import { invoke } from './invoke.ts';
import { activeExtensions, extensionHeader } from './negotiate.ts';
import { counted } from './pending-bytes.ts';
import type { FullReply, Reply, TransportRequest } from './request.ts';
import {
  errorHeaders,
  lastEventId,
  openStream,
  parseBody,
  peerError,
  TransportCall,
} from './respond.ts';
import { decodeSegment, pathPattern, type PathPattern, pathValues } from './path-pattern.ts';

/** Parley's own operations, in addition to those of the protocol. */
type OwnAction = 'readLog' | 'listDeadLetters' | 'retryDeadLetters';
type Action = Operation | OwnAction;

interface Route extends PathPattern {
  readonly action: Action;
  readonly version: ProtocolVersion;
  readonly verb: string;
}

/** Paths with a literal ending such as `:cancel` come first, because `{id}` would match the ending too. */
const ROUTES: readonly Route[] = VERSIONS.flatMap((version) =>
  OPERATIONS.flatMap((action) =>
    METHODS[action].rest[version].map(({ verb, path }) => route(action, version, verb, path)),
  ).concat(ownRoutes(version)),
).toSorted((one, other) => Number(isLiteral(other)) - Number(isLiteral(one)));

function ownRoutes(version: ProtocolVersion): Route[] {
  const prefix = version === '0.3' ? '/v1' : '';
  const webhook = `${prefix}/tasks/{id}/pushNotificationConfigs/{pushNotificationConfigId}`;
  return [
    route('readLog', version, 'GET', `${prefix}/tasks/{id}/events`),
    route('listDeadLetters', version, 'GET', `${prefix}/deadLetters`),
    route('listDeadLetters', version, 'GET', `${webhook}/deadLetters`),
    route('retryDeadLetters', version, 'POST', `${webhook}/deadLetters:retry`),
  ];
}

function isLiteral({ pattern }: Route): boolean {
  return pattern.source.includes('):');
}

function route(action: Action, version: ProtocolVersion, verb: string, path: string): Route {
  return { action, version, verb, ...pathPattern(path) };
}

/** Values of the first path segment that are not tenants. */
const NO_TENANTS = new Set(['v1', 'a2a', 'agents', 'tasks', '.well-known']);

export interface RestTarget {
  readonly action: Action;
  readonly version: ProtocolVersion;
  readonly values: Readonly<Record<string, string>>;
  readonly tenant: string | undefined;
}

/** The result for a path that exists, but not for this verb. */
interface WrongVerb {
  readonly allow: readonly string[];
  readonly version: ProtocolVersion;
}

/**
 * Returns the operation for a verb and a path. Returns the allowed verbs if the path exists only for other verbs, and
 * undefined if the path does not exist.
 */
export function matchRest(verb: string, path: string): RestTarget | WrongVerb | undefined {
  const found = match(verb, path);
  if (found) return found;
  const [, segment, rest] = /^\/([^/]+)(\/.+)$/.exec(path) ?? [];
  if (segment === undefined || rest === undefined) return undefined;
  const tenant = decodeSegment(segment);
  if (NO_TENANTS.has(tenant)) return undefined;
  const inside = match(verb, rest);
  // Only 1.0 has tenants.
  if (inside?.version !== '1.0') return undefined;
  return 'allow' in inside ? inside : { ...inside, tenant };
}

function match(verb: string, path: string): ReturnType<typeof matchRest> {
  const allow = new Set<string>();
  let found: ProtocolVersion | undefined;
  for (const route of ROUTES) {
    const values = route.pattern.exec(path);
    if (!values) continue;
    const { action, version } = route;
    if (route.verb === verb) {
      return { action, version, values: pathValues(route, values), tenant: undefined };
    }
    allow.add(route.verb);
    found = version;
  }
  return found && { allow: [...allow], version: found };
}

export async function answerRest(
  app: AppContext,
  request: TransportRequest,
  target: RestTarget,
  query: URLSearchParams,
  user: User | undefined,
  body: string,
): Promise<Reply> {
  const { action, version } = target;
  const bounded = (reply: FullReply) => counted(app.pending, request, user, reply);
  try {
    const codec = codecOf(version, 'HTTP+JSON');
    const extensions = activeExtensions(request, app);
    const call = new TransportCall(request, user, version, extensions);
    const named = extensionHeader(version, extensions);
    const headers = { 'content-type': contentType(request, version), ...named };
    if (isOwn(action)) {
      const result = await answerOwn(app, request, { ...target, action }, query, call);
      return bounded({ status: 200, headers, body: JSON.stringify(result) });
    }
    const params = paramsOf(target, query, body);
    if (isStream(action)) {
      const stream = { request, query, codec, operation: action, params, call, headers: named };
      return await openStream(app, stream);
    }
    const result = await invoke(app.handler, codec, action, params, call);
    return bounded({ status: 200, headers, body: JSON.stringify(result) });
  } catch (error) {
    return restError(peerError(app, error), version, request);
  }
}

function isOwn(action: Action): action is OwnAction {
  return !Object.hasOwn(METHODS, action);
}

/**
 * Runs one of Parley's own operations. The REST binding does not define a format for these operations. Their events
 * have the same format as in JSON-RPC.
 */
async function answerOwn(
  { handler }: AppContext,
  request: TransportRequest,
  { action, version, values, tenant }: RestTarget & { readonly action: OwnAction },
  query: URLSearchParams,
  call: TransportCall,
): Promise<unknown> {
  const { id, pushNotificationConfigId } = values;
  if (action === 'readLog') {
    const after = lastEventId(request, query.get('after')) ?? 0;
    const limit = limitIn(query);
    const { entries, next } = await handler.readLog({ id: id ?? '', after, limit, tenant }, call);
    const codec = codecOf(version, 'JSONRPC');
    const events = entries.map(({ seq, event }) => ({ seq, event: codec.encodeEvent(event) }));
    return { events, nextAfter: next };
  }
  if (action === 'listDeadLetters') {
    const params = { id, pushNotificationConfigId, tenant };
    const letters = await handler.listDeadLetters(params, call);
    const deadLetters = letters.map(({ taskId, configId, seq, reason, attempts, at }) => {
      const timestamp = new Date(at).toISOString();
      return { taskId, pushNotificationConfigId: configId, seq, reason, attempts, timestamp };
    });
    return { deadLetters };
  }
  const webhook = { id: id ?? '', pushNotificationConfigId: pushNotificationConfigId ?? '' };
  return { retried: await handler.retryDeadLetters({ ...webhook, tenant }, call) };
}

/** Returns the maximum number of entries that the client wants, or undefined if it sets no limit. */
function limitIn(query: URLSearchParams): number | undefined {
  const text = query.get('limit');
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new A2AError('invalidParams', 'limit: must be a whole number from 1 to 999999999');
  }
  return Number(text);
}

export function restError(
  error: A2AError,
  version: ProtocolVersion,
  request: TransportRequest,
): FullReply {
  return {
    status: error.httpStatus,
    headers: { 'content-type': contentType(request, version), ...errorHeaders(error) },
    body: JSON.stringify(encodeRestError(error, version)),
  };
}

/** Returns the reply's content type: the media type of A2A 1.0 if the request uses it, or `application/json` if not. */
function contentType(request: TransportRequest, version: ProtocolVersion): string {
  if (version === '0.3') return 'application/json';
  const spoken = `${request.header('accept') ?? ''} ${request.header('content-type') ?? ''}`;
  return spoken.includes('application/a2a+json') ? 'application/a2a+json' : 'application/json';
}

/**
 * Merges the parameters in the query, the body and the path. The path takes precedence over the body, and the body over
 * the query.
 */
function paramsOf(target: RestTarget, query: URLSearchParams, body: string): unknown {
  const params: Record<string, unknown> = {};
  for (const [key, value] of query) {
    if (key !== 'A2A-Version' && key !== 'after' && key !== '__proto__') params[key] = value;
  }
  const raw = parseBody(body);
  if (raw !== undefined) {
    if (!isObject(raw)) throw new A2AError('invalidParams', 'The body must be a JSON object');
    Object.assign(params, raw);
  }
  return Object.assign(params, pathParams(target));
}

/** Returns the parameters in the path, with the names that the protocol version uses. */
function pathParams({ action, version, values, tenant }: RestTarget): Record<string, string> {
  const { id, pushNotificationConfigId: configId, ...rest } = values;
  const named: Record<string, string> = { ...rest, ...(tenant !== undefined && { tenant }) };
  const ofPush = !isOwn(action) && METHODS[action].on === 'pushConfig';
  if (id !== undefined) {
    const isTaskId = ofPush && (version === '1.0' || action === 'setPushConfig');
    named[isTaskId ? 'taskId' : 'id'] = id;
  }
  if (configId !== undefined) {
    named[version === '1.0' ? 'id' : 'pushNotificationConfigId'] = configId;
  }
  return named;
}
