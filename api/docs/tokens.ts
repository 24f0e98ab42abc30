/**
 * The colours of all pages for people, guides and console, named once. Each pair of text and ground has a contrast of
 * 4.5 at least (WCAG 2.2, AA).
 */

/** Name → in the light, in the dark. */
const COLOURS = {
  text: ['#1a1f24', '#dfe5eb'],
  soft: ['#55606b', '#9fabb7'],
  ground: ['#fff', '#12161a'],
  raised: ['#f4f6f8', '#1b2127'],
  line: ['#d8dee4', '#323b44'],
  accent: ['#0b5cad', '#7db7ff'],
  'on-accent': ['#fff', '#0c1a2b'],
  green: ['#0b6b3a', '#63c28b'],
  amber: ['#8a4b00', '#e0a45c'],
  violet: ['#5b3fa0', '#b8a2ee'],
  red: ['#a3202a', '#f28b93'],
} as const satisfies Readonly<Record<string, readonly [light: string, dark: string]>>;

const all = Object.entries(COLOURS);

/** As pages without a script have them: as the system is. */
export function guideTokens(): string {
  const [light, dark] = [0, 1].map((of) => all.map(([name, values]) => `--${name}:${values[of]}`).join(';'));
  return `:root{color-scheme:light dark;${light}}\n@media(prefers-color-scheme:dark){:root{${dark}}}`;
}

/** As the console has them, where somebody may choose: `data-theme` of the root is `light` or `dark`, or not there. */
export function consoleTokens(): string {
  const values = all.map(([name, [light, dark]]) => `--${name}:light-dark(${light},${dark})`).join(';');
  return `:root{color-scheme:light dark;${values}}:root[data-theme=light]{color-scheme:light}:root[data-theme=dark]{color-scheme:dark}`;
}
