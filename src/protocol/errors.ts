/**
 * The catalogue of errors. Each error has a name, codes for JSON-RPC, HTTP and google.rpc, and a default message.
 *
 * The message of an A2AError is sent to the peer, so it must never contain an internal cause. Internal causes are
 * logged where they occur, with the correlation id that the peer receives.
 */
export const ERRORS = {
  parse: entry(-32700, 400, 'INVALID_ARGUMENT', 'PARSE_ERROR', 'Invalid JSON payload'),
  invalidRequest: entry(-32600, 400, 'INVALID_ARGUMENT', 'INVALID_REQUEST', 'Invalid request'),
  tooLarge: entry(-32600, 413, 'INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE', 'Request body too large'),
  methodNotFound: entry(-32601, 404, 'NOT_FOUND', 'METHOD_NOT_FOUND', 'Method not found'),
  invalidParams: entry(-32602, 400, 'INVALID_ARGUMENT', 'INVALID_PARAMS', 'Invalid parameters'),
  internal: entry(-32603, 500, 'INTERNAL', 'INTERNAL', 'Internal error'),
  // JSON-RPC reserves -32000 for implementations. Some peers use it for all failures that have no specific code.
  serverError: entry(-32000, 500, 'INTERNAL', 'SERVER_ERROR', 'Server error'),
  taskNotFound: entry(-32001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND', 'Task not found'),
  taskNotCancelable: precondition(-32002, 'TASK_NOT_CANCELABLE', 'Task cannot be canceled'),
  pushNotSupported: precondition(
    -32003,
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    'Push notifications are not supported',
  ),
  unsupportedOperation: precondition(
    -32004,
    'UNSUPPORTED_OPERATION',
    'This operation is not supported',
  ),
  contentTypeNotSupported: entry(
    -32005,
    400,
    'INVALID_ARGUMENT',
    'CONTENT_TYPE_NOT_SUPPORTED',
    'Content type not supported',
  ),
  invalidAgentResponse: entry(
    -32006,
    500,
    'INTERNAL',
    'INVALID_AGENT_RESPONSE',
    'Invalid agent response',
  ),
  extendedCardNotConfigured: precondition(
    -32007,
    'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
    'No extended agent card is configured',
  ),
  extensionRequired: precondition(
    -32008,
    'EXTENSION_SUPPORT_REQUIRED',
    'The request does not name a required extension',
  ),
  versionNotSupported: precondition(
    -32009,
    'VERSION_NOT_SUPPORTED',
    'Protocol version not supported',
  ),
  unauthenticated: entry(
    -31401,
    401,
    'UNAUTHENTICATED',
    'UNAUTHENTICATED',
    'Authentication required',
  ),
  forbidden: entry(-31403, 403, 'PERMISSION_DENIED', 'FORBIDDEN', 'Not allowed'),
  verbNotAllowed: entry(
    -31405,
    405,
    'UNIMPLEMENTED',
    'METHOD_NOT_ALLOWED',
    'This path does not support this HTTP method',
  ),
  notFound: entry(-31404, 404, 'NOT_FOUND', 'NOT_FOUND', 'Not found'),
  conflict: entry(
    -31409,
    409,
    'ABORTED',
    'CONFLICT',
    'The request conflicts with the current state',
  ),
  preconditionFailed: entry(
    -31412,
    412,
    'FAILED_PRECONDITION',
    'PRECONDITION_FAILED',
    'The resource has changed',
  ),
  upstreamFailed: entry(
    -31502,
    502,
    'UNAVAILABLE',
    'UPSTREAM_FAILED',
    'An upstream service failed',
  ),
  upstreamTimeout: entry(
    -31504,
    504,
    'DEADLINE_EXCEEDED',
    'UPSTREAM_TIMEOUT',
    'An upstream service did not answer in time',
  ),
  rateLimited: entry(-31429, 429, 'RESOURCE_EXHAUSTED', 'RATE_LIMITED', 'Too many requests'),
  unavailable: entry(
    -31503,
    503,
    'UNAVAILABLE',
    'UNAVAILABLE',
    'The service is temporarily unavailable',
  ),
} as const;

/** The name of an error in the catalogue `ERRORS`. */
export type ErrorKind = keyof typeof ERRORS;

function entry(code: number, http: number, status: string, reason: string, message: string) {
  return { code, http, status, reason, message };
}

function precondition(code: number, reason: string, message: string) {
  return entry(code, 400, 'FAILED_PRECONDITION', reason, message);
}

/** An invalid field of a request. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/** Additional data of an A2AError. */
export interface ErrorDetail {
  /** Details for the peer, such as the task's id. */
  readonly info?: Readonly<Record<string, string>>;
  readonly violations?: readonly FieldViolation[];
  /** The reason that replaces the catalogue's reason. Needed for kinds of errors that have several reasons. */
  readonly reason?: string;
  readonly retryAfterSeconds?: number;
  /** The unchanged `data` of a remote peer's error. Only clients set it. */
  readonly data?: unknown;
}

/** An error of the catalogue, with a message for the peer. */
export class A2AError extends Error {
  readonly kind: ErrorKind;
  readonly detail: ErrorDetail;

  constructor(kind: ErrorKind, message?: string, detail: ErrorDetail = {}) {
    super(message ?? ERRORS[kind].message);
    this.name = 'A2AError';
    this.kind = kind;
    this.detail = detail;
  }

  get code(): number {
    return ERRORS[this.kind].code;
  }

  get httpStatus(): number {
    return ERRORS[this.kind].http;
  }

  get reason(): string {
    return this.detail.reason ?? ERRORS[this.kind].reason;
  }
}

const byCode = new Map<number, ErrorKind>();
const byReason = new Map<string, ErrorKind>();
for (const kind of Object.keys(ERRORS) as ErrorKind[]) {
  if (!byCode.has(ERRORS[kind].code)) byCode.set(ERRORS[kind].code, kind);
  byReason.set(ERRORS[kind].reason, kind);
}
// The reasons that a2a-go and drafts of 1.0 use.
byReason.set('UNSUPPORTED_CONTENT_TYPE', 'contentTypeNotSupported');
byReason.set('AUTHENTICATED_EXTENDED_CARD_NOT_CONFIGURED', 'extendedCardNotConfigured');

/** Returns the kind of error for a JSON-RPC error code. An unknown code is an internal error. */
export function kindOfCode(code: number): ErrorKind {
  return byCode.get(code) ?? 'internal';
}

/** Returns the kind of error for the reason in a google.rpc.ErrorInfo, or undefined if the reason is unknown. */
export function kindOfReason(reason: string): ErrorKind | undefined {
  return byReason.get(reason);
}

export function taskNotFound(id: string): A2AError {
  return new A2AError('taskNotFound', undefined, { info: { taskId: id } });
}
