/** The `agents` section of the configuration: `"agents": { "travel": { "url": "http://10.0.0.7:4000" } }`. */
import * as z from 'zod';
import { MAX_TIMER_MS } from '../../base/index.ts';
import { REMOTE_LIMITS, type RemoteLimits } from '../../client/index.ts';
import { budgetFields, withCurrency } from '../budgets/budget.ts';
import { integer } from '../api/fields.ts';
import { WebAddress } from '../api/web-address.ts';

const MAX_SIZE = 2 ** 31;

/** An agent's name, which is part of the agent's address `/agents/NAME`. */
export const AgentName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9\-_.]{0,63}$/,
    'a name has at most 64 characters: a-z, 0-9, "-", "_" and ".", starting with a letter or digit',
  );

const Url = WebAddress.describe('The address of the agent or of its card');

/** Headers of the connection itself. They must not be set, and undici refuses requests with some of them. */
const CONNECTION_HEADERS = [
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/**
 * Request headers that are never forwarded to an agent. They contain credentials for the gateway, belong to one
 * connection, or are set by the gateway itself.
 */
const NEVER_FORWARDED = [
  ...CONNECTION_HEADERS,
  'a2a-extensions',
  'a2a-version',
  'accept',
  'accept-encoding',
  'authorization',
  'content-encoding',
  'content-type',
  'host',
  'last-event-id',
  'proxy-authenticate',
  'proxy-authorization',
  'traceparent',
  'user-agent',
  'x-a2a-extensions',
  'x-api-key',
  'x-goog-api-key',
];

const MAX_HEADERS = 32;
const HeaderName = z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/, 'not a valid header name');
export const HeaderValue = z
  .string()
  .max(8192)
  .regex(/^[\t\x20-\x7e]*$/, 'a header value must be printable ASCII');

const Headers = z
  .record(HeaderName, HeaderValue)
  .refine((headers) => Object.keys(headers).length <= MAX_HEADERS, `at most ${MAX_HEADERS} headers`)
  .refine(
    (headers) => !Object.keys(headers).some((n) => CONNECTION_HEADERS.includes(n.toLowerCase())),
    `these headers cannot be set: ${CONNECTION_HEADERS.join(', ')}`,
  )
  .describe('Headers for every request to the agent, usually credentials');

/** Returns the schema of the limits. `most` returns the largest allowed value of a limit. */
function limitsUpTo(most: (name: keyof RemoteLimits) => number) {
  const limit = (name: keyof RemoteLimits) => integer(1, most(name));
  return z
    .strictObject({
      maxBytes: limit('maxBytes').describe(
        'Maximum number of bytes received for one message and its result',
      ),
      maxEventBytes: limit('maxEventBytes').describe(
        'Maximum size of one event or one response, in bytes',
      ),
      maxEvents: limit('maxEvents'),
      maxContentLength: limit('maxContentLength').describe(
        'Maximum length of the text, base64 and JSON of all parts together',
      ),
      maxPartLength: limit('maxPartLength'),
      maxParts: limit('maxParts').describe(
        'Maximum number of parts in one message or one artifact chunk',
      ),
      maxArtifacts: limit('maxArtifacts'),
      idleMs: limit('idleMs').describe(
        'A connection that is silent for this long is closed and opened again',
      ),
      quietMs: limit('quietMs').describe(
        'Maximum time without a new event. Heartbeats do not count',
      ),
      totalMs: limit('totalMs').describe(
        'Maximum time until the agent finishes or asks a question',
      ),
      cancelMs: limit('cancelMs').describe('Maximum time for a cancel request to the agent'),
    })
    .partial()
    .optional();
}

const fields = {
  url: Url,
  headers: Headers.optional(),
  description: z
    .string()
    .max(2000)
    .optional()
    .describe('A description that replaces the description in the card'),
  tags: z
    .array(z.string().min(1).max(64))
    .max(32)
    .optional()
    .describe('Tags of the agent, shown in lists and added to its skills'),
  allowOrigins: z
    .array(Url)
    .max(16)
    .optional()
    .describe(
      "Other origins that the agent's card may refer to. The headers are sent to these origins too",
    ),
  deduplicates: z
    .boolean()
    .optional()
    .describe(
      'Whether the agent recognizes a repeated message by its id, as Parley agents do. After a crash of the gateway, it may be unknown whether a message has arrived. If true, the message is then sent again. If false, its task fails. Default: false',
    ),
  timeoutMs: integer(1, MAX_TIMER_MS)
    .optional()
    .describe(
      'Maximum time until a response begins, in milliseconds. Default: 60 seconds. For the card, the maximum is 10 seconds',
    ),
};

/**
 * The settings of an agent in the API. Limits can only be lowered, so that a registered agent cannot fill the gateway's
 * memory.
 */
export const AgentInput = z.strictObject({
  ...fields,
  limits: limitsUpTo((name) => REMOTE_LIMITS[name]).describe(
    "Limits, at most as high as the gateway's defaults. Only the configuration can set higher limits",
  ),
});
export type AgentInput = z.infer<typeof AgentInput>;

const { tokens, amount, currency } = budgetFields;

const ForwardHeaders = z
  .array(HeaderName)
  .max(MAX_HEADERS)
  .refine(
    (names) => !names.some((name) => NEVER_FORWARDED.includes(name.toLowerCase())),
    `these headers cannot be forwarded: ${NEVER_FORWARDED.join(', ')}. To send credentials of the gateway to the agent, set the field "headers"`,
  )
  .describe("Names of the headers of a caller's request that are passed on to the agent");

export const AgentConfig = z
  .strictObject({
    ...fields,
    forwardHeaders: ForwardHeaders.optional(),
    usage: withCurrency(z.strictObject({ tokens, amount, currency }))
      .optional()
      .describe(
        'The usage that budgets count for a call if the agent does not report its usage in metadata.usage. The same usage is reserved before the call. Default: nothing',
      ),
    limits: limitsUpTo((name) => (name.endsWith('Ms') ? MAX_TIMER_MS : MAX_SIZE)),
    workspaces: z
      .array(z.string().min(1).max(64))
      .optional()
      .describe(
        'Workspaces that may use the agent. If missing, all workspaces may use it, and its skills are on the public card',
      ),
  })
  .refine(
    ({ headers = {}, forwardHeaders = [] }) => {
      const own = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
      return !forwardHeaders.some((name) => own.has(name.toLowerCase()));
    },
    {
      path: ['forwardHeaders'],
      message: 'a header must not be in both headers and forwardHeaders',
    },
  );
export type AgentConfig = z.infer<typeof AgentConfig>;

export const AgentsConfig = z
  .record(AgentName, AgentConfig)
  .describe('Agents behind the gateway, by name. The path of each agent is /agents/NAME');
export type AgentsConfig = z.infer<typeof AgentsConfig>;

export const AgentHealthSeconds = z
  .number()
  .min(1)
  .max(86_400)
  .describe('Interval in seconds between the health checks, which fetch the cards of the agents');
