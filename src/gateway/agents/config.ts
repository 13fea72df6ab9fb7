/** The configuration's part about agents: `"agents": { "travel": { "url": "http://10.0.0.7:4000" } }`. */
import * as z from 'zod';
import { WebAddress } from '../web-address.ts';

const MAX_TIMER_MS = 2 ** 31 - 1;

/** What an agent is called in its address, `/agents/NAME`. */
export const AgentName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9\-_.]{0,63}$/,
    'a name is of a-z, 0-9, "-", "_" and ".", begins with a letter or digit, and has at most 64 characters',
  );

const Url = WebAddress.describe("The agent's address, or its card's");

const Headers = z
  .record(
    z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/, 'not the name of a header'),
    z
      .string()
      .max(8192)
      .regex(/^[\t\x20-\x7e]*$/, 'a header is printable ASCII'),
  )
  .refine((headers) => Object.keys(headers).length <= 32, 'at most 32 headers')
  .describe('Sent with every request to the agent: credentials, usually');

const size = z
  .int()
  .min(1)
  .max(2 ** 31);
const time = z.int().min(1).max(MAX_TIMER_MS);

const Limits = z
  .strictObject({
    maxBytes: size.describe('On the wire, for one message and all that comes back for it'),
    maxEventBytes: size.describe('One event, or one answer'),
    maxEvents: size,
    maxContentLength: size.describe('Text, base64 and JSON of an answer together'),
    maxPartLength: size,
    maxParts: size.describe('In one message, or one chunk of an artifact'),
    maxArtifacts: size,
    idleMs: time.describe('A connection that is silent for so long is given up and made anew'),
    quietMs: time.describe('So long without anything new'),
    totalMs: time.describe('Until the agent is done, or asks'),
    cancelMs: time.describe('For the agent to be told that its work is no longer wanted'),
  })
  .partial();

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
  limits: Limits.optional(),
  timeoutMs: time.optional().describe('For the card, and until an answer begins. 60 seconds'),
};

/** What the API takes. */
export const AgentInput = z.strictObject(fields);
export type AgentInput = z.infer<typeof AgentInput>;

export const AgentConfig = z.strictObject({
  ...fields,
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
