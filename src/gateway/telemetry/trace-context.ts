/** The W3C trace context: `00-TRACE-SPAN-FLAGS`, as it stands in the header `traceparent`. */
import { randomBytes } from 'node:crypto';

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

// A later version may have more fields behind these four; ff is forbidden, and so are ids of nothing but zeros.
const HEADER =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined where the header is absent or not as the standard has it: then a trace begins here. */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined || header.length > 256) return undefined;
  const [, version, traceId, spanId, flags, more] = HEADER.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** A new span's own context, in its parent's trace or a new one. A parent that is not sampled has no sampled children. */
export function childOf(parent: TraceContext | undefined): TraceContext {
  return {
    traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    sampled: parent?.sampled ?? true,
  };
}
