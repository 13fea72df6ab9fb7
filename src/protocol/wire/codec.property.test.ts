import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type * as z from 'zod';
import { lineSafe } from '../../base/index.ts';
import { A2AError, ERRORS, type ErrorKind } from '../errors.ts';
import {
  METHODS,
  OPERATIONS,
  type Operation,
  type ParamsOf,
  type UnaryOperation,
} from '../methods.ts';
import { encodeRestError } from './rest-error.ts';
import { v03 } from './v03.ts';
import { v03Rest } from './v03-rest.ts';
import { v1 } from './v1.ts';
import { arbitrariesOf, json, of, text, word } from '../../../test/support/codec-arbitraries.ts';

function onWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The names of the .proto file for those of JSON, except in what is the peer's own. */
function inProtoNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inProtoNames);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inside]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      name === 'metadata' || name === 'data' ? inside : inProtoNames(inside),
    ]),
  );
}

/** Decodes as it was encoded, and as it is after a trip through text. */
function comesBack(value: unknown, encoded: unknown, decode: (raw: unknown) => unknown): void {
  const before = JSON.stringify(value);
  assert.deepEqual(decode(encoded), value);
  assert.deepEqual(decode(onWire(encoded)), value);
  assert.equal(JSON.stringify(value), before, 'the value is not changed');
}

const schemas: { [O in Operation]: { params: z.ZodType<ParamsOf<O>> } } = METHODS;
const RUNS = { numRuns: 100 };

for (const [name, codec] of Object.entries({ '0.3': v03, '0.3 over REST': v03Rest, '1.0': v1 })) {
  const arbitrary = arbitrariesOf(codec);

  describe(`codec ${name}`, () => {
    test('every event comes back as it was', () => {
      fc.assert(
        fc.property(arbitrary.event, (event) => {
          comesBack(event, codec.encodeEvent(event), (raw) => codec.decodeEvent(raw));
        }),
        RUNS,
      );
    });

    test('eventText returns the JSON of encodeEvent, or undefined', () => {
      fc.assert(
        fc.property(arbitrary.event, (event) => {
          const text = lineSafe(JSON.stringify(codec.encodeEvent(event)));
          assert.equal(codec.eventText?.(event) ?? text, text);
        }),
        RUNS,
      );
    });

    for (const operation of OPERATIONS) {
      test(`the parameters of ${operation} come back as they were`, () => {
        roundTripParams(operation);
      });
    }

    for (const operation of Object.keys(arbitrary.results) as UnaryOperation[]) {
      test(`the result of ${operation} comes back as it was`, () => roundTripResult(operation));
    }

    // JSON-RPC in 0.3 is no ProtoJSON.
    if (codec !== v03) {
      test("everything is understood under the .proto file's names, too", () => {
        for (const operation of OPERATIONS) sameInProtoNames(operation);
        fc.assert(
          fc.property(arbitrary.event, (event) => {
            assert.deepEqual(codec.decodeEvent(inProtoNames(codec.encodeEvent(event))), event);
          }),
          RUNS,
        );
      });
    }

    test('every card comes back as it was', () => {
      fc.assert(
        fc.property(arbitrary.card, (card) => {
          comesBack(card, codec.encodeCard(card), (raw) => codec.decodeCard(raw));
        }),
        RUNS,
      );
    });

    test('parameters of any JSON are taken or refused with an A2AError', () => {
      const operations = fc.constantFrom(...OPERATIONS);
      fc.assert(
        fc.property(operations, nearly(), (operation, raw) => {
          onlyA2AErrors('invalidParams', () => codec.decodeParams(operation, raw));
        }),
        { numRuns: 1000 },
      );
    });

    test('answers of any JSON are taken or refused as invalid', () => {
      const operations = fc.constantFrom(...(Object.keys(arbitrary.results) as UnaryOperation[]));
      fc.assert(
        fc.property(operations, nearly(), (operation, raw) => {
          onlyA2AErrors('invalidAgentResponse', () => codec.decodeResult(operation, raw));
          onlyA2AErrors('invalidAgentResponse', () => codec.decodeEvent(raw));
          onlyA2AErrors('invalidAgentResponse', () => codec.decodeCard(raw));
        }),
        { numRuns: 1000 },
      );
    });

    test('errors of any JSON become an A2AError', () => {
      fc.assert(
        fc.property(nearly(), fc.option(fc.nat(700), { nil: undefined }), (raw, http) => {
          assert.ok(codec.decodeError(raw, http) instanceof A2AError);
        }),
        { numRuns: 1000 },
      );
    });

    test('every error keeps its kind, message, facts and violations on each binding', () => {
      fc.assert(
        fc.property(anyError(), (error) => {
          sameError(codec.decodeError(onWire(codec.encodeError(error)), error.httpStatus), error);
          const rest = encodeRestError(error, codec.version);
          sameError(codec.decodeError(onWire(rest), error.httpStatus), error);
        }),
        RUNS,
      );
    });
  });

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- ties the value to its operation
  function roundTripParams<O extends Operation>(operation: O): void {
    fc.assert(
      fc.property(of(schemas[operation].params, arbitrary.params[operation]), (params) => {
        comesBack(params, codec.encodeParams(operation, params), (raw) =>
          codec.decodeParams(operation, raw),
        );
      }),
      RUNS,
    );
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- ties the value to its operation
  function sameInProtoNames<O extends Operation>(operation: O): void {
    fc.assert(
      fc.property(of(schemas[operation].params, arbitrary.params[operation]), (params) => {
        const raw = inProtoNames(codec.encodeParams(operation, params));
        assert.deepEqual(codec.decodeParams(operation, raw), params);
      }),
      { numRuns: 30 },
    );
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- ties the value to its operation
  function roundTripResult<O extends UnaryOperation>(operation: O): void {
    fc.assert(
      fc.property(arbitrary.results[operation], (result) => {
        comesBack(result, codec.encodeResult(operation, result), (raw) =>
          codec.decodeResult(operation, raw),
        );
      }),
      RUNS,
    );
  }
}

function anyError(): fc.Arbitrary<A2AError> {
  const kind = fc.constantFrom(...(Object.keys(ERRORS) as ErrorKind[]));
  const info = fc.dictionary(fc.constantFrom('taskId', 'state', 'url'), text, {
    minKeys: 1,
    noNullPrototype: true,
  });
  const violation = fc.record({ field: text, description: text }, { noNullPrototype: true });
  const detail = fc.record(
    {
      info,
      violations: fc.array(violation, { minLength: 1, maxLength: 3 }),
      reason: fc.constantFrom('ALREADY_RESOLVED', 'LEASE_LOST'),
    },
    { requiredKeys: [], noNullPrototype: true },
  );
  return fc
    .tuple(kind, word, detail)
    .map(([kind, message, detail]) => new A2AError(kind, message, detail));
}

/** An error with a reason of its own has only its code to say what it is, and over REST not even that. */
function sameError(actual: A2AError, expected: A2AError): void {
  if (expected.detail.reason === undefined) assert.equal(actual.kind, expected.kind);
  assert.equal(actual.message, expected.message);
  assert.equal(actual.reason, expected.reason);
  assert.deepEqual(actual.detail.info, expected.detail.info);
  assert.deepEqual(actual.detail.violations, expected.detail.violations);
}

function onlyA2AErrors(kind: ErrorKind, run: () => unknown): void {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof A2AError, String(error));
    assert.equal(error.kind, kind);
  }
}

/** JSON that has the protocol's names in it, so that it gets further than pure noise would. */
function nearly(): fc.Arbitrary<unknown> {
  const names = fc.constantFrom(
    ...`message parts content text raw url data file kind role id messageId taskId contextId configuration metadata
      status state task statusUpdate artifactUpdate artifact history artifacts pageSize error tenant name
      pushNotificationConfig taskPushNotificationConfig authentication supportedInterfaces securitySchemes
      securityRequirements skills code @type details reason fieldViolations configs tasks returnImmediately
      schemes`.split(/\s+/),
  );
  const leaf = fc.oneof(
    json,
    fc.constantFrom('ROLE_USER', 'user', 'text', 'message', 'task', 'TASK_STATE_WORKING', 3, ''),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      leaf,
      fc.dictionary(names, tie('tree'), { maxKeys: 6 }),
      fc.array(tie('tree'), { maxLength: 3 }),
    ),
  }));
  return fc.oneof(tree, fc.dictionary(names, tree, { maxKeys: 8 }), fc.constant(undefined));
}
