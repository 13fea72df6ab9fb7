/**
 * Encodes and decodes errors. 1.0 uses google.rpc details, and 0.3 uses free-form `data`. One decoder reads all
 * formats.
 */
import { isObject } from '../../base/index.ts';
import {
  A2AError,
  ERRORS,
  kindOfCode,
  kindOfReason,
  type ErrorKind,
  type FieldViolation,
} from '../errors.ts';
import type { Raw } from './read.ts';

const TYPE = 'type.googleapis.com/google.rpc.';
const DOMAIN = 'a2a-protocol.org';
/**
 * Maximum length of a peer's error message. Longer messages are cut, because messages are shown to users and logged.
 */
const MAX_MESSAGE = 2000;

/** The errors that JSON-RPC defines. Their codes are specific enough, so JSON-RPC responses usually omit the reason. */
const PLAIN: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'parse',
  'invalidRequest',
  'methodNotFound',
  'invalidParams',
  'internal',
]);

/**
 * Returns the google.rpc details of an error. With `always`, the details include the reason even if the JSON-RPC code
 * implies it. REST needs the reason, because its errors have no JSON-RPC code and several errors share an HTTP
 * status.
 */
export function errorDetails(error: A2AError, always: boolean): unknown[] {
  // A gateway forwards the details of a remote peer's error.
  if (Array.isArray(error.detail.data)) return error.detail.data;
  const { info, violations, reason } = error.detail;
  const details: unknown[] = [];
  if (always || info || reason !== undefined || !PLAIN.has(error.kind)) {
    const detail: Raw = { '@type': `${TYPE}ErrorInfo`, reason: error.reason, domain: DOMAIN };
    if (info) detail.metadata = info;
    details.push(detail);
  }
  if (violations?.length) {
    details.push({ '@type': `${TYPE}BadRequest`, fieldViolations: violations });
  }
  return details;
}

/** Returns the `data` of a 0.3 error, or undefined if the error has no details. */
export function errorData(error: A2AError): unknown {
  const { data, info, violations, reason } = error.detail;
  if (data !== undefined) return data;
  if (!info && !violations?.length && reason === undefined) return undefined;
  const out: Raw = { reason: error.reason, ...info };
  if (violations?.length) out.violations = violations;
  return out;
}

/**
 * The subject of a failed REST request: a task, the cancellation of a task, a push configuration, or the extended
 * card. It is needed for servers that send no error code, because several errors share an HTTP status.
 */
export type ErrorSubject = 'task' | 'cancel' | 'push' | 'card';

/**
 * Decodes the error in a JSON-RPC response, in a REST body of any version, or in any other body of a failed request.
 * The kind of the error is determined from the reason. If there is no known reason, the JSON-RPC code is used. If there
 * is no known code either, the HTTP status and the subject of the request are used. Never throws.
 */
export function decodeError(raw: unknown, http?: number, subject?: ErrorSubject): A2AError {
  const error = errorObject(raw);
  const data = error.data ?? error.details;
  const facts = Array.isArray(data) ? factsOfDetails(data) : factsOfData(data);
  const said = textOfError(error);
  const reason = facts.reason ?? reasonOfProblem(error.type);
  // An error whose message is empty or `not found` comes from the server's router. So the subject is not used.
  const routed = /^(not found\.?)?$/i.test(said);
  const read = kindOf(error, reason, http, routed ? undefined : subject);
  // ADK's server loses the error codes of its SDK and sends all errors as internal errors.
  const kind = read === 'internal' && /^Task not found(:|$)/.test(said) ? 'taskNotFound' : read;
  const message = said === '' ? undefined : said.slice(0, MAX_MESSAGE);
  return new A2AError(kind, message, {
    ...(facts.info && { info: facts.info }),
    ...(facts.violations && { violations: facts.violations }),
    ...(facts.reason !== undefined &&
      facts.reason !== ERRORS[kind].reason && { reason: facts.reason }),
    ...(data != null && { data }),
  });
}

/**
 * Returns the text of an error. FastAPI sends it in `detail`, as a string or as a list of invalid fields. RFC 9457
 * uses `title` and `detail`.
 */
function textOfError({ message, detail, title }: Raw): string {
  const fields = Array.isArray(detail)
    ? detail.flatMap((each) => (isObject(each) && typeof each.msg === 'string' ? [each.msg] : []))
    : [];
  const texts = [message, detail, fields.join('; '), title];
  const text = texts.find((each) => typeof each === 'string' && each !== '');
  return typeof text === 'string' ? text : '';
}

/**
 * Returns the reason in the `type` of an RFC 9457 problem, or undefined if `type` has another format. Drafts of 1.0 and
 * older Go servers send such problems.
 */
function reasonOfProblem(type: unknown): string | undefined {
  const name = typeof type === 'string' ? PROBLEM.exec(type)?.[1] : undefined;
  return name?.toUpperCase().replaceAll('-', '_');
}

const PROBLEM = /^https:\/\/a2a-protocol\.org\/errors\/([a-z-]{1,64})$/;

/** Returns the error object. Peers send `{code, message}` or `{error: {code, message}}`. */
function errorObject(raw: unknown): Raw {
  if (!isObject(raw)) return {};
  return typeof raw.code !== 'number' && isObject(raw.error) ? raw.error : raw;
}

function kindOf(
  error: Raw,
  reason: string | undefined,
  http: number | undefined,
  subject: ErrorSubject | undefined,
): ErrorKind {
  const named = reason === undefined ? undefined : kindOfReason(reason);
  if (named) return named;
  const code = typeof error.code === 'number' ? error.code : undefined;
  const status = http ?? (code !== undefined && code >= 100 && code < 600 ? code : undefined);
  if (code !== undefined) {
    const kind = kindOfCode(code);
    if (ERRORS[kind].code === code) return status === 413 ? 'tooLarge' : kind;
  }
  // An error with a custom reason, such as "already resolved", is recognized by its status name.
  if (error.status === 'FAILED_PRECONDITION') return 'unsupportedOperation';
  return status === undefined ? 'internal' : kindOfHttp(status, subject);
}

const KIND_OF_STATUS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalidParams',
  401: 'unauthenticated',
  403: 'forbidden',
  412: 'preconditionFailed',
  413: 'tooLarge',
  415: 'contentTypeNotSupported',
  422: 'invalidParams',
  429: 'rateLimited',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};

/**
 * Returns the most likely kind of error for an HTTP status. A 404 without a reason and without a subject means a wrong
 * address, not a missing task.
 */
function kindOfHttp(status: number, subject: ErrorSubject | undefined): ErrorKind {
  switch (status) {
    case 404:
      if (subject === 'card') return 'extendedCardNotConfigured';
      return subject ? 'taskNotFound' : 'methodNotFound';
    case 405:
      return subject ? 'unsupportedOperation' : 'methodNotFound';
    case 409:
      return subject === 'cancel' ? 'taskNotCancelable' : 'conflict';
    case 501:
      return subject === 'push' ? 'pushNotSupported' : 'unsupportedOperation';
    default:
      return KIND_OF_STATUS[status] ?? 'internal';
  }
}

interface Facts {
  reason?: string | undefined;
  info?: Record<string, string> | undefined;
  violations?: FieldViolation[] | undefined;
}

function factsOfDetails(details: readonly unknown[]): Facts {
  const facts: Facts = {};
  for (const detail of details) {
    if (!isObject(detail)) continue;
    const type = typeof detail['@type'] === 'string' ? detail['@type'] : '';
    if (type.endsWith('google.rpc.ErrorInfo') && typeof detail.reason === 'string') {
      facts.reason ??= detail.reason;
      facts.info ??= isObject(detail.metadata) ? strings(detail.metadata) : undefined;
    } else if (type.endsWith('google.rpc.BadRequest')) {
      facts.violations ??= violationsOf(detail.fieldViolations);
    }
  }
  return facts;
}

function factsOfData(data: unknown): Facts {
  if (!isObject(data)) return {};
  const { reason, violations, ...rest } = data;
  return {
    reason: typeof reason === 'string' ? reason : undefined,
    info: strings(rest),
    violations: violationsOf(violations),
  };
}

function strings(object: Raw): Record<string, string> | undefined {
  const found = Object.entries(object).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

function violationsOf(value: unknown): FieldViolation[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const found: FieldViolation[] = [];
  for (const item of value) {
    if (!isObject(item)) continue;
    const { field, description } = item;
    if (typeof field === 'string' && typeof description === 'string') {
      found.push({ field, description });
    }
  }
  return found.length > 0 ? found : undefined;
}
