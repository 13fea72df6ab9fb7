/**
 * The messages that gateways with the same providers send to each other. A gateway reports that the circuit breaker of
 * a model has opened, or that the model must not be called for a while (`pausesProvider` in failure.ts). Then the other
 * gateways stop their calls to this model too. If the circuit has opened only for the calls of one workspace, they stop
 * only the calls of this workspace. A report may be lost. Then the other gateways learn of the failures from their own
 * calls. No report is sent when a circuit closes, because each gateway closes its own circuits.
 */
import * as z from 'zod';
import { ModelError } from '../../agent/index.ts';
import type { CircuitNews } from '../../base/index.ts';
import type { Register } from '../register/register.ts';
import { parseObject } from './relay/event-reader.ts';

/** The connection to the other gateways. */
export type OtherNodes = Pick<Register, 'tell' | 'onTold'>;

const MAX_MESSAGE_CHARS = 500;

const News = z.object({
  provider: z.string(),
  target: z.string(),
  caller: z.string().optional(),
  ms: z.number().nonnegative(),
  cause: z
    .object({
      code: z.enum(['rate-limit', 'no-credit', 'overloaded', 'bad-key']),
      message: z.string(),
      status: z.int().optional(),
      retryable: z.boolean(),
      retryAfterMs: z.number().optional(),
    })
    .optional(),
});

export function tellNews(
  otherNodes: OtherNodes,
  provider: string,
  { cause, ...news }: CircuitNews<ModelError>,
): void {
  const { code, message = '', status, retryable, retryAfterMs } = cause ?? {};
  const short = message.slice(0, MAX_MESSAGE_CHARS);
  const told = cause && { code, message: short, status, retryable, retryAfterMs };
  otherNodes.tell(JSON.stringify({ provider, ...news, cause: told }));
}

/** Reads a report. Returns undefined if it is not valid, for example because a newer gateway sent it. */
export function readNews(
  text: string,
): (CircuitNews<ModelError> & { readonly provider: string }) | undefined {
  const parsed = News.safeParse(parseObject(text));
  if (!parsed.success) return undefined;
  const { cause, ...news } = parsed.data;
  if (!cause) return news;
  const { code, message, ...options } = cause;
  return { ...news, cause: new ModelError(code, message, options) };
}
