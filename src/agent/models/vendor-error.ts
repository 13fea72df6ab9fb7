/**
 * What went wrong at a vendor, in one line that says what to do. The vendor's own words are in it where they help,
 * shortened, and without anything that looks like a key.
 *
 * Errors are told by their fields and not by their class: any provider's package fits, in any copy of it.
 */
import { ModelError } from '../model.ts';
import { isRetryable, statusError } from './failure.ts';

export interface Blame {
  /** The model's. */
  readonly name: string;
  /** The variable that the key came from. */
  readonly keyVariable?: string | undefined;
  /** Never to be shown. */
  readonly secret?: string | undefined;
}

const MAX_CHARS = 300;
const TOO_LONG =
  /context.?(length|window)|prompt is too long|too many (input )?tokens|input token count|maximum.{0,30}tokens/i;
const BAD_KEY = /api.?key.{0,20}(not valid|invalid|expired)|invalid.{0,10}api.?key/i;

export function vendorError(error: unknown, blame: Blame): ModelError {
  if (error instanceof ModelError) return error;
  const { name } = blame;
  const said = tidy(messageOf(error), blame);
  const status = statusOf(error);
  if (is(error, 'AI_LoadAPIKeyError')) {
    return new ModelError('no-key', `${name} has no key${inVariable(blame)}`);
  }
  if (is(error, 'AI_JSONParseError') || is(error, 'AI_TypeValidationError')) {
    return new ModelError('failed', `${name} sent something that cannot be understood: ask again`);
  }
  if (is(error, 'AI_UnsupportedFunctionalityError') || is(error, 'AI_InvalidPromptError')) {
    return new ModelError('invalid-request', `${name} does not take this: ${said}`);
  }
  if (/ended without a finish reason/.test(said) || (status !== undefined && status < 300)) {
    return cutOff(name);
  }
  if (status === undefined) {
    const code = networkCode(error);
    if (code !== undefined || field(error, 'isRetryable') === true) {
      const why = code ?? said;
      return new ModelError(
        'unreachable',
        `${name} cannot be reached (${why}): check the network and its address`,
        {
          retryable: true,
        },
      );
    }
    return new ModelError('failed', `${name} failed: ${said}`);
  }
  return refusal(error, status, said, blame);
}

export function cutOff(name: string): ModelError {
  return new ModelError('cut-off', `${name} broke off in the middle of its answer: ask again`, {
    retryable: true,
  });
}

function refusal(error: unknown, status: number, said: string, blame: Blame): ModelError {
  const { name } = blame;
  const key = `the key${blame.keyVariable === undefined ? '' : ` in ${blame.keyVariable}`}`;
  if (status === 401 || BAD_KEY.test(said)) {
    return new ModelError('bad-key', `${name} refused ${key} (${status}): set a valid one`, {
      status,
    });
  }
  if (status === 403) {
    return new ModelError('bad-key', `${name} does not allow this with ${key} (403): ${said}`, {
      status,
    });
  }
  if (status === 413 || (status === 400 && TOO_LONG.test(said))) {
    return new ModelError('too-long', `the conversation is too long for ${name}: ${said}`, {
      status,
    });
  }
  if (status === 404) {
    return new ModelError(
      'not-found',
      `${name} is not known there (404): check its name. ${said}`,
      { status },
    );
  }
  if (status === 429 && isOutOfCredit(error)) {
    return new ModelError('rate-limit', `${name}: the account has no credit left (429): ${said}`, {
      status,
    });
  }
  const retryAfterMs = retryAfter(error);
  const verb = isRetryable(status) ? 'cannot answer now' : 'refused the request';
  return statusError(status, `${name} ${verb} (${status}): ${said}`, { retryAfterMs });
}

function inVariable({ keyVariable }: Blame): string {
  return keyVariable === undefined ? '' : `: set ${keyVariable}`;
}

/** OpenAI's way to say that waiting does not help. */
function isOutOfCredit(error: unknown): boolean {
  const problem = field(field(error, 'data'), 'error');
  return (
    field(problem, 'code') === 'insufficient_quota' ||
    field(problem, 'type') === 'insufficient_quota'
  );
}

/** In milliseconds: the header, in any of its forms, or what Google has in the body. */
function retryAfter(error: unknown): number | undefined {
  const headers = field(error, 'responseHeaders');
  const precise = Number(field(headers, 'retry-after-ms') ?? Number.NaN);
  if (precise >= 0) return precise;
  const header = field(headers, 'retry-after');
  if (typeof header === 'string' && header !== '') {
    const seconds = Number(header);
    const wait = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
    if (!Number.isNaN(wait)) return Math.max(0, wait);
  }
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

/** What the system says of a connection, however deep it lies: `ECONNREFUSED`. */
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
  for (const from of [error, field(error, 'error')]) {
    const message = field(from, 'message');
    if (typeof message === 'string' && message !== '') return message;
  }
  return 'it gave no reason';
}

/** One line of bounded length, with no key in it. */
function tidy(text: string, { secret }: Blame): string {
  const short = text.slice(0, 4 * MAX_CHARS);
  const safe = secret === undefined ? short : short.replaceAll(secret, '[key]');
  const line = safe
    .replaceAll(/\b(sk|pk|key)-[\w*.-]{6,}|\bAIza[\w*-]{6,}/g, '[key]')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line;
}

function is(error: unknown, name: string): boolean {
  return field(error, 'name') === name;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
