/** The configuration's part about agents: `"agents": { "travel": { "url": "http://10.0.0.7:4000" } }`. */
import * as z from 'zod';
import { REMOTE_LIMITS, type RemoteLimits } from '../../client/index.ts';
import { WebAddress } from '../api/web-address.ts';

const MAX_TIMER_MS = 2 ** 31 - 1;
const MAX_SIZE = 2 ** 31;

/** What an agent is called in its address, `/agents/NAME`. */
export const AgentName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9\-_.]{0,63}$/,
    'a name is of a-z, 0-9, "-", "_" and ".", begins with a letter or digit, and has at most 64 characters',
  );

const Url = WebAddress.describe("The agent's address, or its card's");

/** These belong to the connection. A client that is told to send them sends nothing. */
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
    z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/, 'not the name of a header'),
    z
      .string()
      .max(8192)
      .regex(/^[\t\x20-\x7e]*$/, 'a header is printable ASCII'),
  )
  .refine((headers) => Object.keys(headers).length <= 32, 'at most 32 headers')
  .refine(
    (headers) => !Object.keys(headers).some((n) => CONNECTION_HEADERS.includes(n.toLowerCase())),
    `headers of the connection are not to be set: ${CONNECTION_HEADERS.join(', ')}`,
  )
  .describe('Sent with every request to the agent: credentials, usually');

/** `most`: how far each may be set. */
function limitsUpTo(most: (name: keyof RemoteLimits) => number) {
  const limit = (name: keyof RemoteLimits) => z.int().min(1).max(most(name));
  return z
    .strictObject({
      maxBytes: limit('maxBytes').describe('On the wire, for one message and its whole answer'),
      maxEventBytes: limit('maxEventBytes').describe('One event, or one answer'),
      maxEvents: limit('maxEvents'),
      maxContentLength: limit('maxContentLength').describe('Text, base64 and JSON of an answer'),
      maxPartLength: limit('maxPartLength'),
      maxParts: limit('maxParts').describe('In one message, or one chunk of an artifact'),
      maxArtifacts: limit('maxArtifacts'),
      idleMs: limit('idleMs').describe('A connection so long silent is given up and made anew'),
      quietMs: limit('quietMs').describe('So long without anything new'),
      totalMs: limit('totalMs').describe('Until the agent is done, or asks'),
      cancelMs: limit('cancelMs').describe('For the agent to be told of a cancellation'),
    })
    .partial()
    .optional();
}

const fields = {
  url: Url,
  headers: Headers.optional(),
  description: z.string().max(2000).optional().describe("Shown instead of the card's own"),
  tags: z.array(z.string().min(1).max(64)).max(32).optional().describe('For lists'),
  allowOrigins: z
    .array(Url)
    .max(16)
    .optional()
    .describe('Further origins that its card may lead to; the headers go there too'),
  deduplicates: z
    .boolean()
    .optional()
    .describe(
      'The agent knows a message that comes again by its id, as those of Parley do: one whose fate is unknown after a crash is then sent again, where it else is a failure',
    ),
  timeoutMs: z
    .int()
    .min(1)
    .max(MAX_TIMER_MS)
    .optional()
    .describe('For the card, and until an answer begins. 60 seconds'),
};

/** What the API takes. Whoever registers an agent must not be able to fill the gateway's memory with its answers. */
export const AgentInput = z.strictObject({
  ...fields,
  limits: limitsUpTo((name) => REMOTE_LIMITS[name]).describe(
    "Tighter than the gateway's own; only the configuration has wider ones",
  ),
});
export type AgentInput = z.infer<typeof AgentInput>;

export const AgentConfig = z.strictObject({
  ...fields,
  limits: limitsUpTo((name) => (name.endsWith('Ms') ? MAX_TIMER_MS : MAX_SIZE)),
  workspaces: z
    .array(z.string().min(1).max(64))
    .optional()
    .describe('Who may use it; absent: every workspace, and its skills are on the public card'),
});
export type AgentConfig = z.infer<typeof AgentConfig>;

export const AgentsConfig = z
  .record(AgentName, AgentConfig)
  .describe('Agents behind the gateway, by name; each is at /agents/NAME');
export type AgentsConfig = z.infer<typeof AgentsConfig>;

export const AgentHealthSeconds = z
  .number()
  .min(1)
  .max(86_400)
  .describe('How often the cards of agents are looked at, to know whether they are there');
