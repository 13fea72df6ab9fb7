/**
 * Converts a vendor's error to a ModelError. The message is one line. It says what is wrong and, where possible, what
 * to do. It may quote the vendor's message, shortened and without keys.
 *
 * Errors are recognized by their fields and not by their class. So all provider packages work, even if a package is
 * installed twice.
 */
import { retryAfterMs, shorten } from '../../base/index.ts';
import { ModelError, type ModelErrorCode } from '../model.ts';
import { CONTEXT_CODES, contextWindowIn, isWindow, saysTooLong } from './too-long.ts';

export interface ErrorSource {
  /** The model's name. */
  readonly name: string;
  /** The name of the environment variable that contains the key. */
  readonly keyVariable?: string | undefined;
  /** The key, which is removed from messages. */
  readonly secret?: string | undefined;
}

const MAX_CHARS = 300;
const MAX_BODY_CHARS = 64 * 1024;
const CONTEXT_CODE = 'context_length_exceeded';
/** The statuses with which servers report that a conversation is too long. Text Generation Inference uses 422. */
const TOO_LONG_STATUSES: ReadonlySet<number> = new Set([400, 413, 422]);
/**
 * Texts that report that an account has no credit. They count only at the start of a message and only for some
 * statuses, because a message may quote the caller's request.
 */
const NO_CREDIT =
  /^(your |the )?(credit balance is too low|account balance is|insufficient.?(quota|credit|balance|funds)|billing.{0,20}hard limit)/i;
/** The statuses with which vendors report that an account has no credit. Anthropic uses 400. */
const NO_CREDIT_STATUSES: ReadonlySet<number> = new Set([400, 402, 403, 429]);
/**
 * The error codes and types with which OpenAI, Anthropic and vendors with OpenAI's format report that there is no
 * credit.
 */
const NO_CREDIT_CODES: ReadonlySet<unknown> = new Set([
  'insufficient_quota',
  'insufficient_credits',
  'insufficient_balance',
  'billing_hard_limit_reached',
  'billing_not_active',
  'billing_error',
]);
/** OpenAI's text for a single request that exceeds the limit per minute. A retry does not help. */
const LARGER_THAN_LIMIT = /^request too large for .{0,80}(tokens|requests) per/i;
/**
 * Texts that report a bad key. Like NO_CREDIT, they count only at the start of a message and only for some statuses.
 * Google reports a bad key with 400.
 */
const BAD_KEY =
  /^(error: )?((your |the )?(provided )?api.?key.{0,20}(not valid|invalid|expired)|invalid.{0,10}api.?key)/i;
const BAD_KEY_STATUSES: ReadonlySet<number> = new Set([400, 403]);

export function vendorError(error: unknown, source: ErrorSource): ModelError {
  if (error instanceof ModelError) return error;
  const { name } = source;
  const said = tidy(messageOf(error), source);
  const status = statusOf(error);
  if (is(error, 'AI_LoadAPIKeyError')) {
    const hint = source.keyVariable === undefined ? '' : `: set ${source.keyVariable}`;
    return new ModelError('no-key', `${name} has no key${hint}`);
  }
  if (is(error, 'AI_JSONParseError') || is(error, 'AI_TypeValidationError')) {
    return new ModelError('failed', `${name} sent an invalid response: try again`);
  }
  if (is(error, 'AI_UnsupportedFunctionalityError') || is(error, 'AI_InvalidPromptError')) {
    return new ModelError('invalid-request', `${name} does not support this request: ${said}`);
  }
  if (/ended without a finish reason/.test(said) || (status !== undefined && status < 300)) {
    return cutOff(name);
  }
  if (status === undefined) {
    const code = networkCode(error);
    if (code !== undefined || field(error, 'isRetryable') === true) {
      const message = `${name} cannot be reached (${code ?? said}): check the network and the base URL of the model`;
      return new ModelError('unreachable', message, { retryable: true });
    }
    // Some vendors report these errors as an event of the stream, which has no HTTP status.
    if (hasCreditCode(error)) return noCredit(name, said, undefined);
    if (isTooLong(error, said)) return tooLong(error, name, said, undefined);
    return new ModelError('failed', `${name} failed: ${said}`);
  }
  return refusal(error, status, said, source);
}

/** Returns whether the vendor may have refused the request because of its content. */
export function refusesContent(error: unknown): boolean {
  const status = statusOf(error);
  if (status === undefined) return is(error, 'AI_UnsupportedFunctionalityError');
  if (status === 400 || status === 413 || status === 415 || status === 422) return true;
  // Ollama and llama.cpp's server answer with 500 if the model cannot see images.
  return status === 500 && /\b(?:images?|vision|multimodal|mmproj)\b/i.test(messageOf(error));
}

export function cutOff(name: string): ModelError {
  return new ModelError('cut-off', `${name} stopped in the middle of its answer: try again`, {
    retryable: true,
  });
}

function isTooLong(error: unknown, said: string): boolean {
  const problem = problemOf(error);
  const named = [codeIn(error), field(problem, 'code'), field(problem, 'type')];
  return saysTooLong(said) || named.some((name) => CONTEXT_CODES.has(name));
}

function tooLong(
  error: unknown,
  name: string,
  said: string,
  status: number | undefined,
): ModelError {
  // llama.cpp's server has a field for the size.
  const tokens = field(problemOf(error), 'n_ctx');
  return new ModelError('too-long', `the conversation is too long for ${name}: ${said}`, {
    status,
    vendorCode: CONTEXT_CODE,
    contextWindow: isWindow(tokens) ? tokens : contextWindowIn(said),
  });
}

function refusal(error: unknown, status: number, said: string, source: ErrorSource): ModelError {
  const { name } = source;
  const key = `the key${source.keyVariable === undefined ? '' : ` in ${source.keyVariable}`}`;
  const refused = (code: ModelErrorCode, message: string): ModelError =>
    new ModelError(code, message, { status });
  if (status === 401 || (BAD_KEY_STATUSES.has(status) && BAD_KEY.test(said))) {
    return refused('bad-key', `${name} refused ${key} (${status}): set a valid key`);
  }
  if (isOutOfCredit(error, status, said)) return noCredit(name, said, status);
  if (status === 403) {
    return refused('bad-key', `${name} does not allow this with ${key} (403): ${said}`);
  }
  if (status === 413 || (TOO_LONG_STATUSES.has(status) && isTooLong(error, said))) {
    return tooLong(error, name, said, status);
  }
  if (status === 404) {
    return refused(
      'not-found',
      `${name} was not found (404): check the model's name and the base URL. ${said}`,
    );
  }
  if (status === 429 && LARGER_THAN_LIMIT.test(said)) {
    return refused('rate-limit', `${name} is rate limited (429): ${said}`);
  }
  const delayMs = retryAfter(error);
  if (status === 429) {
    const wait = delayMs === undefined ? 'later' : `in ${duration(delayMs)}`;
    const message = `${name} is rate limited (429): ${said.replace(/\.$/, '')}: try again ${wait}`;
    return statusError(status, message, { retryAfterMs: delayMs });
  }
  const verb = isRetryable(status) ? 'cannot answer now' : 'refused the request';
  return statusError(status, `${name} ${verb} (${status}): ${said}`, {
    retryAfterMs: delayMs,
    vendorCode: codeIn(error),
  });
}

/** Returns the vendor's error code, or undefined if there is no code in the format of OpenAI's error codes. */
function codeIn(error: unknown): string | undefined {
  const code = field(problemOf(error), 'code');
  return typeof code === 'string' && /^[a-z][a-z0-9_]{2,63}$/.test(code) ? code : undefined;
}

function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}

/**
 * Returns whether the account has no credit, or has used its quota for today. In this case, a retry does not help.
 * OpenAI reports this as a code. Google reports it as the id of a daily quota or as the reason of a refusal. Other
 * vendors report it in the message or with status 402.
 */
function isOutOfCredit(error: unknown, status: number, said: string): boolean {
  if (status === 402 || hasCreditCode(error)) return true;
  if (NO_CREDIT_STATUSES.has(status) && NO_CREDIT.test(said)) return true;
  const details = JSON.stringify(field(problemOf(error), 'details') ?? '');
  if (status === 429) return /"quotaId":"[^"]*PerDay/.test(details);
  return status === 403 && details.includes('"reason":"BILLING_DISABLED"');
}

function hasCreditCode(error: unknown): boolean {
  const problem = problemOf(error);
  return ['code', 'type'].some((name) => NO_CREDIT_CODES.has(field(problem, name)));
}

function noCredit(name: string, said: string, status: number | undefined): ModelError {
  const shown = status === undefined ? '' : ` (${status})`;
  const message = `${name}: the account has no credit left${shown}: ${said}`;
  return new ModelError('no-credit', message, { status });
}

/**
 * Returns the vendor's own description of an error, from the body of the response or from an event of the stream.
 * Returns the error itself if there is no such description.
 */
function problemOf(error: unknown): unknown {
  return (
    field(field(error, 'data'), 'error') ?? field(error, 'error') ?? bodyOf(error)?.problem ?? error
  );
}

/**
 * Reads the body of a response that the AI SDK does not understand. Returns undefined if the body is too long or is not
 * JSON. The formats differ. vLLM sends the error's fields at the top level instead of in `error`. LM Studio sends the
 * error's text as `error`. Servers that use FastAPI send the text as `detail`.
 */
function bodyOf(
  error: unknown,
): { readonly problem: unknown; readonly text: string | undefined } | undefined {
  const body = field(error, 'responseBody');
  if (typeof body !== 'string' || body.length > MAX_BODY_CHARS) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return undefined;
  }
  const problem = field(parsed, 'error') ?? parsed;
  const said = [problem, field(problem, 'message'), field(parsed, 'detail')];
  return {
    problem,
    text: said.find((text): text is string => typeof text === 'string' && text !== ''),
  };
}

/**
 * Returns the delay in milliseconds that the vendor asks for. The delay is in a header or, for Google, in the body.
 */
function retryAfter(error: unknown): number | undefined {
  const headers = field(error, 'responseHeaders');
  const precise = Number(field(headers, 'retry-after-ms') ?? Number.NaN);
  if (precise >= 0) return precise;
  const header = field(headers, 'retry-after');
  const wait = retryAfterMs(typeof header === 'string' ? header : undefined);
  if (wait !== undefined) return wait;
  const details = field(field(field(error, 'data'), 'error'), 'details');
  for (const detail of Array.isArray(details) ? details : []) {
    const delay = field(detail, 'retryDelay');
    if (typeof delay === 'string' && /^\d+(\.\d+)?s$/.test(delay))
      return Number.parseFloat(delay) * 1000;
  }
  return undefined;
}

function statusOf(error: unknown): number | undefined {
  const status = field(error, 'statusCode');
  return typeof status === 'number' ? status : undefined;
}

/**
 * Returns the system's error code of a failed connection, such as `ECONNREFUSED`. Searches the error and its causes.
 */
function networkCode(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < 8 && current !== undefined && current !== null; depth++) {
    const code = field(current, 'code');
    if (typeof code === 'string' && /^(E[A-Z]+|UND_ERR_[A-Z_]+)$/.test(code)) return code;
    current = field(current, 'cause');
  }
  return undefined;
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  // If `data` is missing, the AI SDK could not read the body. Its message is then only the text of the HTTP status.
  const said = field(error, 'data') === undefined ? bodyOf(error)?.text : undefined;
  if (said !== undefined) return said;
  for (const from of [error, field(error, 'error')]) {
    const message = field(from, 'message');
    if (typeof message === 'string' && message !== '') return message;
  }
  return 'it gave no reason';
}

/** Converts a text to one line of limited length, without keys. */
function tidy(text: string, { secret }: ErrorSource): string {
  const short = text.slice(0, 4 * MAX_CHARS);
  const safe = secret === undefined ? short : short.replaceAll(secret, '[key]');
  const line = safe
    .replaceAll(/\b(sk|pk|key)-[\w*.-]{6,}|\bAIza[\w*-]{6,}/g, '[key]')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return shorten(line, MAX_CHARS);
}

function is(error: unknown, name: string): boolean {
  return field(error, 'name') === name;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** The codes of the errors, by HTTP status. Errors with other statuses have the code `failed`. */
const BY_STATUS: Readonly<Record<number, ModelErrorCode>> = {
  400: 'invalid-request',
  401: 'bad-key',
  403: 'bad-key',
  404: 'not-found',
  408: 'timeout',
  413: 'too-long',
  422: 'invalid-request',
  429: 'rate-limit',
  502: 'overloaded',
  503: 'overloaded',
  504: 'timeout',
  529: 'overloaded',
};

/** Returns whether the same request may succeed later. */
function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** Returns the error for an HTTP status. Scripted models also use this function. */
export function statusError(
  status: number,
  message: string,
  options: {
    readonly retryAfterMs?: number | undefined;
    readonly vendorCode?: string | undefined;
  } = {},
): ModelError {
  return new ModelError(BY_STATUS[status] ?? 'failed', message, {
    status,
    retryable: isRetryable(status),
    ...options,
  });
}
