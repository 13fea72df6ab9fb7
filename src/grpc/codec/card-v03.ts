/**
 * The card in the protobuf definition of 0.3. Its security schemes and requirements have the structure of 1.0, while in
 * the JSON of 0.3 they have the structure of OpenAPI.
 */
import { isObject } from '../../base/index.ts';
import { type AgentCard, v1 } from '../../protocol/index.ts';

type Raw = Record<string, unknown>;

/**
 * Returns the JSON of a card in which the security schemes and requirements have the structure of the protobuf
 * definition. `raw` is the card in the JSON of 0.3.
 */
export function withProtoSecurity(raw: unknown, card: AgentCard): Raw {
  const out: Raw = { ...Object(raw) };
  const { securitySchemes, securityRequirements, skills }: Raw = Object(v1.encodeCard(card));
  if (securitySchemes !== undefined) out.securitySchemes = securitySchemes;
  if (securityRequirements !== undefined) out.security = securityRequirements;
  if (Array.isArray(out.skills) && Array.isArray(skills)) {
    out.skills = out.skills.map((skill: unknown, at) => {
      const { securityRequirements: security }: Raw = Object(skills[at]);
      return security === undefined ? skill : { ...Object(skill), security };
    });
  }
  return out;
}

/**
 * Renames `security` to `securityRequirements`, its name in 1.0, in a card and in its skills. The JSON codec reads both
 * names.
 */
export function withSecurityNames(raw: Raw): Raw {
  const { security, skills, ...rest } = raw;
  const out: Raw = { ...rest };
  if (security !== undefined) out.securityRequirements = security;
  if (Array.isArray(skills)) {
    out.skills = skills.map((skill: unknown) =>
      isObject(skill) ? withSecurityNames(skill) : skill,
    );
  }
  return out;
}
