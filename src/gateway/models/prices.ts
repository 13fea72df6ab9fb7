/**
 * The prices of models. The operator limits a workspace with a budget in money. With a low price on its own model card,
 * the workspace could exceed this budget. So a price on a card has no effect if it is lower than the price that the
 * operator has configured for the same model of the same provider.
 */
import type { Pricing } from '../cards/schema.ts';
import { comparedName } from './model-name.ts';

/** A provider's model. */
interface PricedModel {
  readonly provider: { readonly name: string; readonly config: { readonly type: string } };
  readonly model: string;
}

export class OperatorPrices {
  readonly #prices = new Map<string, Pricing>();

  /**
   * Adds a price from the configuration. If a model has several prices, the highest price is used. If their currencies
   * differ, the last price is used.
   */
  add(model: PricedModel, pricing: Pricing): void {
    this.#prices.set(keyOf(model), higher(this.#prices.get(keyOf(model)), pricing));
  }

  /**
   * Returns the price of a card, raised to the operator's prices for the models that the card may call. Returns
   * undefined if there is no price on the card and no operator's price for these models.
   */
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
  return JSON.stringify([provider.name, comparedName(provider.config.type, model)]);
}

/**
 * Returns the higher of the two prices, separately for input, output and cached input. Returns the operator's price if
 * `card` is undefined or has another currency.
 */
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
