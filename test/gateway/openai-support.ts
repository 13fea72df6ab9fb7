/** The routes for OpenAI's clients on a port, with fake vendors behind them. */
import OpenAI from 'openai';
import { openaiRoutes } from '../../src/gateway/models/openai/routes.ts';
import { responsesRoutes } from '../../src/gateway/models/openai/responses/routes.ts';
import { createVendorApi } from '../../src/gateway/models/vendor-api/vendor-api.ts';
import { describeOwn, ownRoutes } from '../../src/gateway/api/serve-routes.ts';
import { createAgent } from '../../src/tasks/index.ts';
import { serve } from '../../src/server.ts';
import { fakeVendor, type FakeVendor, type Reply } from '../support/vendors/server.ts';
import { caller, compatible, rig, type Rig, type RigOptions } from './models-support.ts';

export interface Served extends Rig, AsyncDisposable {
  readonly url: string;
  post(path: string, body: unknown, signal?: AbortSignal): Promise<Response>;
}

/** The routes on a port, for a caller that is let in. */
export async function served(options: RigOptions, limits = {}): Promise<Served> {
  const made = rig(options);
  const api = createVendorApi(made);
  const nobody = createAgent({ name: 'n', description: 'd' }, async function* () {});
  const server = serve(nobody, {
    routes: ownRoutes([...openaiRoutes({ ...made, api }), ...responsesRoutes({ api })]),
    authenticate: () => caller,
    limits,
    describe: describeOwn,
  });
  const listening = await server.listen(0);
  const base = new URL(listening.url).origin;
  return {
    ...made,
    url: base,
    post: (path, body, signal) =>
      fetch(`${base}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        ...(signal && { signal }),
      }),
    async [Symbol.asyncDispose]() {
      await listening.close(0);
    },
  };
}

export async function before(
  replies: readonly Reply[],
): Promise<Served & { readonly vendor: FakeVendor }> {
  const vendor = await fakeVendor(replies);
  const made = await served({
    providers: {
      p: compatible(vendor.url, { models: ['m'], embeddingModels: ['e'], attempts: 1 }),
    },
  });
  return {
    ...made,
    vendor,
    async [Symbol.asyncDispose]() {
      await made[Symbol.asyncDispose]();
      await vendor[Symbol.asyncDispose]();
    },
  };
}

/** The vendor's own client, pointed at the gateway. */
export function openaiClient({ url }: Pick<Served, 'url'>): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 });
}

/** A vendor of a type that says the replies, and the gateway in front of it. */
export async function beforeVendor(
  type: string,
  replies: readonly Reply[],
  model = 'm',
): Promise<Served & { readonly vendor: FakeVendor }> {
  const vendor = await fakeVendor(replies);
  const provider = { type, apiKey: 'sk-vendor', baseUrl: vendor.url, attempts: 1 };
  const made = await served({
    providers: { p: { ...provider, models: [model], embeddingModels: ['e'] } },
    models: { m: { provider: 'p', model } },
  });
  return {
    ...made,
    vendor,
    async [Symbol.asyncDispose]() {
      await made[Symbol.asyncDispose]();
      await vendor[Symbol.asyncDispose]();
    },
  };
}
