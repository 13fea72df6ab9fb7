/**
 * The prices of models. A model card belongs to a workspace, but its budgets in money belong to the operator. So a card
 * cannot make a model cheaper than the price that the operator has configured for the same model of the same provider.
 */
import type { Pricing } from '../cards/schema.ts';

/** A provider's model. */
export interface PricedModel {
  readonly provider: string;
  readonly model: string;
}

export class OperatorPrices {
  readonly #prices = new Map<string, Pricing>();

  /** Adds a price of the configuration. If a model has several prices, the highest one counts. */
  add(model: PricedModel, pricing: Pricing): void {
    this.#prices.set(keyOf(model), higher(this.#prices.get(keyOf(model)), pricing));
  }

  /** Returns the price of a card for the models that it may call. */
  of(models: readonly PricedModel[], card: Pricing | undefined): Pricing | undefined {
    let price = card;
    for (const model of models) {
      const lowest = this.#prices.get(keyOf(model));
      if (lowest) price = higher(price, lowest);
    }
    return price;
  }
}

function keyOf({ provider, model }: PricedModel): string {
  return JSON.stringify([provider, model]);
}

/** Returns the higher of two prices. Prices in different currencies cannot be compared, so the operator's price counts. */
function higher(card: Pricing | undefined, operator: Pricing): Pricing {
  if (card?.currency !== operator.currency) return operator;
  const { inputPricePerToken: input, outputPricePerToken: output } = operator;
  return {
    ...card,
    inputPricePerToken: Math.max(card.inputPricePerToken, input),
    outputPricePerToken: Math.max(card.outputPricePerToken, output),
    cachedInputPricePerToken: Math.max(
      card.cachedInputPricePerToken ?? card.inputPricePerToken,
      operator.cachedInputPricePerToken ?? input,
    ),
  };
}
