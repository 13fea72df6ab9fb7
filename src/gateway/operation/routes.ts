/** Routes for operators: health, metrics and the OpenAPI document. */
import * as z from 'zod';
import { METRICS_CONTENT_TYPE } from '../../base/metrics/index.ts';
import { aliveReply, NO_STORE, readyReply, type ServerHealth } from '../../http/index.ts';
import { needAllWorkspaces } from '../api/all-workspaces.ts';
import { DEFAULT_WORKSPACE } from '../api/caller.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import { openapiDocument } from '../api/openapi.ts';

export interface OperationOptions {
  readonly health: ServerHealth;
  readonly metrics: { text(): string };
  readonly version: string;
  readonly publicUrl?: string | undefined;
  /** Returns all routes of the gateway, including these. Called once, when the OpenAPI document is first requested. */
  readonly routes: () => readonly GatewayRoute[];
}

const Readiness = z.object({
  status: z.enum(['ready', 'draining', 'failing']),
  checks: z.record(z.string(), z.enum(['ok', 'failed'])),
});
const Alive = z.object({ status: z.literal('alive'), version: z.string() });

export function operationRoutes(options: OperationOptions): readonly GatewayRoute[] {
  const { health, metrics, version, publicUrl } = options;
  let document: unknown;

  return [
    defineRoute({
      verb: 'GET',
      path: '/healthz',
      scope: 'open',
      summary: 'Liveness of the process',
      answers: { 200: { description: 'The process is alive', schema: Alive } },
      handle: async () => aliveReply({ version }),
    }),
    defineRoute({
      verb: 'GET',
      path: '/readyz',
      scope: 'open',
      summary: 'Readiness for requests',
      detail:
        'The gateway is not ready while it is shutting down, or if the store or the register cannot be written.',
      answers: {
        200: { description: 'Ready', schema: Readiness },
        503: {
          description: 'Not ready. The field `checks` shows which checks failed',
          schema: Readiness,
        },
      },
      handle: () => readyReply(health),
    }),
    defineRoute({
      verb: 'GET',
      path: '/metrics',
      scope: 'metrics:read',
      summary: 'Metrics for Prometheus',
      detail: `Metrics cover all workspaces, so only callers of the workspace ${DEFAULT_WORKSPACE} may read them.`,
      answers: {
        200: { description: "Prometheus's text format 0.0.4", contentType: METRICS_CONTENT_TYPE },
      },
      async handle({ caller }) {
        needAllWorkspaces(caller, 'Metrics cover');
        const headers = { ...NO_STORE, 'content-type': METRICS_CONTENT_TYPE };
        return { headers, text: metrics.text() };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/openapi.json',
      scope: 'tasks:read',
      summary: 'Get this OpenAPI document',
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
