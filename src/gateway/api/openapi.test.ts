import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { defineRoute } from './route.ts';
import { openapiDocument } from './openapi.ts';

const Thing = z.object({ id: z.string(), parent: z.json().optional() });

const routes = [
  defineRoute({
    verb: 'GET',
    path: '/a2a/things/{id}',
    scope: 'cards:read',
    resource: 'card',
    summary: 'One thing',
    answers: { 200: { description: 'The thing', schema: Thing } },
    handle: async () => ({}),
  }),
  defineRoute({
    verb: 'POST',
    path: '/a2a/things',
    scope: 'cards:write',
    summary: 'A new thing',
    query: z.object({ dry: z.stringbool().default(false).describe('Only checked.') }),
    body: Thing,
    answers: { 201: { description: 'It is there', schema: Thing }, 409: { description: 'Taken' } },
    handle: async () => ({}),
  }),
  defineRoute({
    verb: 'GET',
    path: '/healthz',
    scope: 'open',
    summary: 'Alive?',
    answers: { 200: { description: 'Yes', contentType: 'text/plain' } },
    handle: async () => ({}),
  }),
];

interface Operation {
  readonly operationId: string;
  readonly security?: readonly object[];
  readonly tags: readonly string[];
  readonly parameters?: readonly { name: string; in: string; required: boolean }[];
  readonly requestBody?: { content: Record<string, { schema: { $ref: string } }> };
  readonly responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

const document = openapiDocument({ routes, version: '1.2.3', publicUrl: 'https://g.example' }) as {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object> };
  readonly servers: readonly object[];
};

test('a route is an operation with its parameters, its scope and its failures', () => {
  const get = document.paths['/a2a/things/{id}']?.['get'];
  assert.ok(get);
  assert.equal(get.operationId, 'getA2aThingsById');
  assert.deepEqual(get.tags, ['things']);
  assert.deepEqual(get.security, [{ bearer: ['cards:read'] }, { apiKey: ['cards:read'] }]);
  assert.deepEqual(get.parameters, [
    { name: 'id', in: 'path', required: true, schema: { type: 'string', minLength: 1 } },
  ]);
  assert.deepEqual(Object.keys(get.responses), '200 400 401 403 404 429 500 503'.split(' '));
  assert.deepEqual(get.responses['404']?.content, {
    'application/json': { schema: { $ref: '#/components/schemas/Error' } },
  });
});

test('an open route needs no key, and text is no JSON', () => {
  const get = document.paths['/healthz']?.['get'];
  assert.deepEqual(get?.security, []);
  assert.deepEqual(get?.responses['200']?.content, {
    'text/plain': { schema: { type: 'string' } },
  });
  assert.ok(!('401' in get.responses));
});

test('what may be left out of a query is not required', () => {
  const [dry] = document.paths['/a2a/things']?.['post']?.parameters ?? [];
  assert.deepEqual([dry?.name, dry?.in, dry?.required], ['dry', 'query', false]);
});

test('every reference leads to a schema of the document', () => {
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref!);
  assert.ok(refs.length > 5);
  for (const ref of refs) {
    const name = ref.replace('#/components/schemas/', '');
    assert.ok(Object.hasOwn(document.components.schemas, name), ref);
  }
});

test('the same schema for two answers is in the document once', () => {
  const { responses } = document.paths['/a2a/things']!['post']!;
  assert.deepEqual(responses['201']?.content?.['application/json']?.schema, {
    $ref: '#/components/schemas/getA2aThingsById200',
  });
});
