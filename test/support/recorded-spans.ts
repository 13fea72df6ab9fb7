import type { Attributes, Tracer } from '../../src/base/tracing/index.ts';

export interface RecordedSpan {
  readonly name: string;
  readonly kind: string | undefined;
  /** The `traceparent` of the parent. */
  readonly parent: string | undefined;
  readonly traceparent: string;
  attributes: Attributes;
  error: string | undefined;
  ended: number;
}

/** A tracer that keeps its spans. Like the exporter, it knows parents only by their `traceparent`. */
export function recordedSpans(): { spans: RecordedSpan[]; tracer: Tracer } {
  const spans: RecordedSpan[] = [];
  const tracer: Tracer = {
    start(name, { kind, parent, attributes = {} } = {}) {
      const trace = parent?.slice(3, 35) ?? String(spans.length + 1).padStart(32, 'a');
      const traceparent = `00-${trace}-${String(spans.length + 1).padStart(16, 'b')}-01`;
      const given = { name, kind, parent, traceparent, attributes };
      const record: RecordedSpan = { ...given, error: undefined, ended: 0 };
      spans.push(record);
      return {
        traceparent,
        set: (more) => void (record.attributes = { ...record.attributes, ...more }),
        fail: (type) => void (record.error = type),
        end: () => void record.ended++,
      };
    },
  };
  return { spans, tracer };
}

/** The spans as lines, each with its parent's name before it: `invoke_agent a > chat m`. */
export function tree(spans: readonly RecordedSpan[]): string[] {
  const line = (span: RecordedSpan): string => {
    const parent = spans.find(({ traceparent }) => traceparent === span.parent);
    return `${parent ? `${line(parent)} > ` : ''}${span.name}`;
  };
  return spans.map(line);
}
