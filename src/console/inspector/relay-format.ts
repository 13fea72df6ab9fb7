/** The JSON that `parley inspect` sends to the inspector's page. The page reads it with these schemas. */
import * as z from 'zod';

/**
 * The state of the relay: the agent's address, the trusted origins, the origins to which the person has agreed, and the
 * names of the headers of the command line. The values of these headers are not sent to the page.
 */
export const RelayState = z.object({
  url: z.string(),
  trusted: z.array(z.string()),
  agreed: z.array(z.string()),
  headers: z.array(z.string()),
});
export type RelayState = z.infer<typeof RelayState>;

/** A line of the answer to a relayed request. `bytes` is a part of the body, in base64. */
export const RelayLine = z.union([
  z.object({
    response: z.object({
      status: z.int().min(200).max(599),
      statusText: z.string(),
      headers: z.array(z.tuple([z.string(), z.string()])),
    }),
  }),
  z.object({ bytes: z.string() }),
  z.object({ end: z.literal(true) }),
  z.object({
    error: z.object({ reason: z.enum(['unreachable', 'timeout', 'limit']), message: z.string() }),
  }),
]);
export type RelayLine = z.infer<typeof RelayLine>;
