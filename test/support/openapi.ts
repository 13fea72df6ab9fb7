// Real answers against what an OpenAPI document says of them.
import assert from 'node:assert/strict';
import * as z from 'zod';

interface Content {
  readonly schema: object;
}

interface Documented {
  readonly description: string;
  readonly content?: Readonly<Record<string, Content>>;
}

export interface Operation {
  readonly operationId: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly { readonly name: string; readonly in: 'path' | 'query' }[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content?: Readonly<Record<string, Content>>;
  };
  readonly responses: Readonly<Record<string, Documented>>;
}

export interface OpenapiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** Says what is wrong with an answer by the document; reads its body. */
export async function assertDocumented(
  document: OpenapiDocument,
  { responses, operationId }: Operation,
  answer: Response,
): Promise<void> {
  const text = await answer.text();
  const what = `${operationId} answered ${answer.status}: ${text.slice(0, 300)}`;
  const documented = responses[String(answer.status)];
  assert.ok(documented, `${what}: this status is not in the document`);
  if (!documented.content) {
    assert.equal(text, '', `${what}: no body is documented`);
    return;
  }
  const type = essence(answer.headers.get('content-type') ?? '');
  const found = Object.entries(documented.content).find(([name]) => essence(name) === type);
  assert.ok(found, `${what}: ${type} is not in the document`);
  for (const value of valuesIn(type, text)) {
    const { error } = validator(document, found[1].schema).safeParse(value);
    assert.equal(error && z.prettifyError(error), undefined, what);
  }
}

function essence(type: string): string {
  return type.split(';')[0]!.trim().toLowerCase();
}

/** What the schema is about: the body, or the data of each event. */
function valuesIn(type: string, text: string): unknown[] {
  if (type === 'application/json') return [JSON.parse(text)];
  if (type !== 'text/event-stream') return [text];
  const events = [...text.matchAll(/^data: ?(.*)$/gm)].map(([, data]) => data!);
  assert.ok(events.length > 0, 'the stream has no event');
  return events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as unknown);
}

const validators = new WeakMap<object, z.ZodType>();

/** Events of text have nothing to be checked but that they are there. */
function validator({ components }: OpenapiDocument, schema: object): z.ZodType {
  if ('type' in schema && schema.type === 'string') return z.unknown();
  const known = validators.get(schema);
  if (known) return known;
  const text = JSON.stringify({ ...schema, $defs: components.schemas });
  const made = z.fromJSONSchema(JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')));
  validators.set(schema, made);
  return made;
}
