/** What those who run the gateway ask it: is it well, what does it do, what does it serve. */
import * as z from 'zod';
import { A2AError } from '../../protocol/index.ts';
import { DEFAULT_WORKSPACE } from '../api/caller.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import { type Health, Readiness } from './health.ts';
import { METRICS_CONTENT_TYPE, type Metrics } from '../telemetry/metrics.ts';
import { openapiDocument } from '../api/openapi.ts';

export interface OperationOptions {
  readonly health: Health;
  readonly metrics: Pick<Metrics, 'text'>;
  readonly version: string;
  readonly publicUrl?: string | undefined;
  /** All of the gateway's routes, these included. Asked once, when somebody wants the document. */
  readonly routes: () => readonly GatewayRoute[];
}

/** An answer that no cache may keep. */
const FRESH = { 'cache-control': 'no-store' };

const Alive = z.object({ status: z.literal('alive'), version: z.string() });

export function operationRoutes(options: OperationOptions): readonly GatewayRoute[] {
  const { health, metrics, version, publicUrl } = options;
  let document: unknown;

  return [
    defineRoute({
      verb: 'GET',
      path: '/healthz',
      scope: 'open',
      summary: 'Is the process alive?',
      answers: { 200: { description: 'It is.', schema: Alive } },
      handle: async () => ({ headers: FRESH, body: { status: 'alive', version } }),
    }),
    defineRoute({
      verb: 'GET',
      path: '/readyz',
      scope: 'open',
      summary: 'Should requests be sent here?',
      detail: 'Not while it drains, nor while the store or the register cannot be written.',
      answers: {
        200: { description: 'Yes.', schema: Readiness },
        503: { description: 'No; the checks say why.', schema: Readiness },
      },
      async handle() {
        const body = await health.readiness();
        return { status: body.status === 'ready' ? 200 : 503, headers: FRESH, body };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/metrics',
      scope: 'metrics:read',
      summary: 'Numbers for Prometheus',
      detail: `They are of all workspaces, so that only keys of the workspace ${DEFAULT_WORKSPACE} may read them.`,
      answers: {
        200: { description: "Prometheus's text format 0.0.4", contentType: METRICS_CONTENT_TYPE },
      },
      async handle({ caller }) {
        if (caller.workspace !== DEFAULT_WORKSPACE) {
          throw new A2AError(
            'forbidden',
            `Metrics are of all workspaces: they need a key of the workspace ${DEFAULT_WORKSPACE}`,
          );
        }
        const headers = { ...FRESH, 'content-type': METRICS_CONTENT_TYPE };
        return { headers, body: metrics.text() };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/openapi.json',
      scope: 'tasks:read',
      summary: 'This document',
      answers: {
        200: { description: 'OpenAPI 3.1', schema: z.looseObject({ openapi: z.string() }) },
      },
      async handle() {
        document ??= openapiDocument({ routes: options.routes(), version, publicUrl });
        return { body: document };
      },
    }),
  ];
}
