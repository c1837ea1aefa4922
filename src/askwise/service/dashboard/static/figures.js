// How numbers are written: three significant digits of what matters for this problem.

const LOCALE = "en-US";

export class Figures {
  /** A thousandth of the reward value is worth showing, and so is the smallest price. */
  constructor(problem) {
    const beta = problem.rewards ? problem.rewards[1] - problem.rewards[0] : rewardValue(problem);
    const costs = problem.observations.map((o) => o.cost ?? 0).filter((cost) => cost > 0);
    this.decimals = Math.max(0, 3 - Math.ceil(Math.log10(beta)));
    const least = costs.length ? Math.min(...costs) : 1;
    let finest = 0;
    while (finest < 6 && Math.abs(Number(least.toFixed(finest)) - least) > 1e-9 * least) finest += 1;
    this.finest = Math.min(Math.max(this.decimals, finest), this.decimals + 3);
    this.least = 1e-6 * Math.max(beta, least); // below it, a number is as good as 0
  }

  gain(number) {
    return isNumber(number) ? fixed(number, this.places(number, this.decimals)) : "?";
  }

  amount(number) {
    return isNumber(number) ? fixed(number, this.places(number, this.finest)) : "?";
  }

  /** As many decimals as usual here, or as three significant digits need. */
  places(number, usual) {
    if (Math.abs(number) < this.least) return usual;
    return Math.max(usual, Math.min(12, 2 - Math.floor(Math.log10(Math.abs(number)))));
  }

  /** With its sign. */
  difference(number) {
    if (!isNumber(number)) return "?";
    const text = fixed(Math.abs(number), this.places(number, this.decimals));
    if (Number(text.replaceAll(",", "")) === 0) return text;
    return `${number < 0 ? "−" : "+"}${text}`;
  }
}

/** What a reward of 1 is worth; rewards that are money are worth what they are. */
export const rewardValue = (problem) => (problem.rewards ? 1 : problem.reward_value ?? 1);

/** What rewards are, as a sentence. */
export const rewardWords = (problem) => (problem.rewards ? `An action earns from ${plain(problem.rewards[0])} to ${plain(problem.rewards[1])}.` : `A reward of 1 is worth ${plain(rewardValue(problem))}.`);

function isNumber(number) {
  return typeof number === "number" && Number.isFinite(number);
}

function fixed(number, decimals) {
  const text = number.toLocaleString(LOCALE, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return /[1-9]/.test(text) ? text.replace("-", "−") : text.replace("-", "");
}

/** As it was typed: 9, 0.25. */
export const plain = (number) => number.toLocaleString(LOCALE, { maximumFractionDigits: 6 });

export const whole = (number) => Math.round(number).toLocaleString(LOCALE);

/** A part of all cases. */
export function share(part) {
  if (!isNumber(part)) return "?";
  if (part === 0) return "never";
  if (part < 0.001) return "<0.1%";
  return part < 0.0995 ? `${(100 * part).toFixed(1)}%` : `${Math.round(100 * part)}%`;
}

/** How long ago: 12 s, 5 min, 3 h, 2 d. */
export function ago(timestamp) {
  const seconds = Math.max(0, (Date.now() - Date.parse(timestamp)) / 1000);
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => seconds >= size) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

export const many = (number, word) => `${whole(number)} ${word}${number === 1 ? "" : "s"}`;
