/** The `agents` section of the configuration: `"agents": { "travel": { "url": "http://10.0.0.7:4000" } }`. */
import * as z from 'zod';
import { MAX_TIMER_MS } from '../../base/index.ts';
import { REMOTE_LIMITS, type RemoteLimits } from '../../client/index.ts';
import { WebAddress } from '../api/web-address.ts';

const MAX_SIZE = 2 ** 31;

/** The name in the agent's address, `/agents/NAME`. */
export const AgentName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9\-_.]{0,63}$/,
    'a name has at most 64 characters: a-z, 0-9, "-", "_" and ".", starting with a letter or digit',
  );

const Url = WebAddress.describe('The address of the agent or of its card');

/** Headers of the connection itself. undici refuses a request that sets them. */
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

const Headers = z
  .record(
    z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/, 'not a valid header name'),
    z
      .string()
      .max(8192)
      .regex(/^[\t\x20-\x7e]*$/, 'a header value must be printable ASCII'),
  )
  .refine((headers) => Object.keys(headers).length <= 32, 'at most 32 headers')
  .refine(
    (headers) => !Object.keys(headers).some((n) => CONNECTION_HEADERS.includes(n.toLowerCase())),
    `these headers cannot be set: ${CONNECTION_HEADERS.join(', ')}`,
  )
  .describe('Sent with every request to the agent, usually credentials');

/** Returns the schema of the limits. `most` returns the largest allowed value of a limit. */
function limitsUpTo(most: (name: keyof RemoteLimits) => number) {
  const limit = (name: keyof RemoteLimits) => z.int().min(1).max(most(name));
  return z
    .strictObject({
      maxBytes: limit('maxBytes').describe('Bytes on the wire for one message and its result'),
      maxEventBytes: limit('maxEventBytes').describe('Bytes of one event or one response'),
      maxEvents: limit('maxEvents'),
      maxContentLength: limit('maxContentLength').describe(
        'Text, base64 and JSON of all parts together',
      ),
      maxPartLength: limit('maxPartLength'),
      maxParts: limit('maxParts').describe('Parts of one message or one artifact chunk'),
      maxArtifacts: limit('maxArtifacts'),
      idleMs: limit('idleMs').describe(
        'A connection that is silent for this long is closed and opened again',
      ),
      quietMs: limit('quietMs').describe('Longest time without anything new'),
      totalMs: limit('totalMs').describe('Longest time until the agent finishes or asks'),
      cancelMs: limit('cancelMs').describe('Longest time for telling the agent to cancel'),
    })
    .partial()
    .optional();
}

const fields = {
  url: Url,
  headers: Headers.optional(),
  description: z.string().max(2000).optional().describe("Shown in place of the card's description"),
  tags: z.array(z.string().min(1).max(64)).max(32).optional().describe('Shown in lists'),
  allowOrigins: z
    .array(Url)
    .max(16)
    .optional()
    .describe('Further origins that its card may lead to; the headers go there too'),
  deduplicates: z
    .boolean()
    .optional()
    .describe(
      'The agent recognizes a repeated message by its id, as Parley agents do. A message that may not have arrived before a crash is then sent again; otherwise its task fails',
    ),
  timeoutMs: z
    .int()
    .min(1)
    .max(MAX_TIMER_MS)
    .optional()
    .describe('Timeout for the card, and until a response begins. 60 seconds'),
};

/**
 * The settings of an agent in the API. Limits can only be lowered, so that a registered agent cannot fill the gateway's
 * memory.
 */
export const AgentInput = z.strictObject({
  ...fields,
  limits: limitsUpTo((name) => REMOTE_LIMITS[name]).describe(
    "Lower than the gateway's defaults. Only the configuration can raise them",
  ),
});
export type AgentInput = z.infer<typeof AgentInput>;

export const AgentConfig = z.strictObject({
  ...fields,
  limits: limitsUpTo((name) => (name.endsWith('Ms') ? MAX_TIMER_MS : MAX_SIZE)),
  workspaces: z
    .array(z.string().min(1).max(64))
    .optional()
    .describe('Workspaces that may use it. Absent: all, and its skills are on the public card'),
});
export type AgentConfig = z.infer<typeof AgentConfig>;

export const AgentsConfig = z
  .record(AgentName, AgentConfig)
  .describe('Agents behind the gateway, by name. Each is at /agents/NAME');
export type AgentsConfig = z.infer<typeof AgentsConfig>;

export const AgentHealthSeconds = z
  .number()
  .min(1)
  .max(86_400)
  .describe('How often the agents are checked by fetching their cards, in seconds');
