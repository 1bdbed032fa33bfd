// A decoder of the package (viz_model/model) by itself, for a file that no server answers: embedding → blocks → norm →
// logits, with a KV cache. What viz_model/island/local_model.py lets through has the parts that are here, and no others.
// Vectors of T positions are one Float32Array [T·D]; a matrix is stored as PyTorch has it, [out, in].

const LONGEST = 60 // ms of work until an answer is given, short as it is: a page that computes stands still

// x [T, I] · Wᵀ + b -> [T, O]
function linear(x, weight, bias, width) {
  const out = weight.length / width, y = new Float32Array(x.length / width * out)
  for (let t = 0, n = 0; t < x.length; t += width) for (let w = 0; w < weight.length; w += width, n++) {
    let sum = bias ? bias[n % out] : 0
    for (let i = 0; i < width; i++) sum += weight[w + i] * x[t + i]
    y[n] = sum
  }
  return y
}
// Every `width` numbers by themselves (Ba et al. 2016; Zhang & Sennrich 2019).
function normed(x, { type, eps }, gain, shift) {
  if (type === "NoNorm") return x
  const width = gain.length, y = new Float32Array(x.length)
  for (let at = 0; at < x.length; at += width) {
    const own = x.subarray(at, at + width), mean = type === "LayerNorm" ? own.reduce((sum, one) => sum + one, 0) / width : 0
    const by = 1 / Math.sqrt(own.reduce((sum, one) => sum + (one - mean) ** 2, 0) / width + eps)
    for (let i = 0; i < width; i++) y[at + i] = (own[i] - mean) * by * gain[i] + (shift ? shift[i] : 0)
  }
  return y
}
function softmax(logits, degrees = 1) {
  const probs = new Float64Array(logits.length)
  let most = -Infinity, sum = 0
  for (const one of logits) if (one > most) most = one
  for (let n = 0; n < probs.length; n++) sum += probs[n] = Math.exp((logits[n] - most) / degrees)
  for (let n = 0; n < probs.length; n++) probs[n] /= sum
  return probs
}
const plus = (x, written) => x.map((one, n) => one + written[n])
const ACTIVATIONS = { relu: x => Math.max(0, x), silu: x => x / (1 + Math.exp(-x)) }

// Pairs (i, i + K/2) of every head's K values, turned by position × frequency (Su et al. 2021, equation 34).
function rotate(x, heads, width, start, base) {
  const half = width / 2
  for (let at = 0, n = 0; at < x.length; at += width, n++) for (let i = 0; i < half; i++) {
    const angle = (start + Math.floor(n / heads)) * base ** (-i / half), cos = Math.cos(angle), sin = Math.sin(angle), a = x[at + i], b = x[at + half + i]
    x[at + i] = a * cos - b * sin
    x[at + half + i] = a * sin + b * cos
  }
}
// Press et al. 2022, section 3: of a count that is no power of two, every other slope of the next one too.
function slopes(heads) {
  const below = 2 ** Math.floor(Math.log2(heads))
  return Array.from({ length: heads }, (_, h) => h < below ? 2 ** (-8 * (h + 1) / below) : 2 ** (-4 * (2 * (h - below) + 1) / below))
}

// Every number that half precision has, by its 16 bits; no weight is infinite.
const halves = () => Float32Array.from({ length: 65536 }, (_, bits) => {
  const power = bits >> 10 & 31, share = bits & 1023
  return (bits >> 15 ? -1 : 1) * (power ? (1024 + share) * 2 ** (power - 25) : share * 2 ** -24)
})

function transformer({ config, weights }, arrays) {
  const numbers = halves(), known = {}
  function weight(name) {
    if (!(name in weights)) return null
    const { low, high, scale } = weights[name], [bytes, others] = [low, high ?? scale].map(n => arrays[n].values), width = bytes.length / others.length
    return known[name] ??= Float32Array.from(bytes, high === undefined ? (byte, n) => (byte << 24 >> 24) * others[Math.floor(n / width)] : (byte, n) => numbers[byte | others[n] << 8])
  }
  const { d_model: D, n_heads: H, n_kv_heads: G, d_head: K, n_layers, n_context } = config

  // Keys and values of positions before `start` are in `past`; those of the new ones are put there.
  function attend(layer, x, start, past, { norm, position, scale, open, off }) {
    const at = `decoder.blocks.${layer}.attn.`, of = letter => linear(x, weight(`${at}${letter}.weight`), weight(`${at}${letter}.bias`), D)
    let [q, k] = ["q", "k"].map(letter => config.qk_norm ? normed(of(letter), norm, weight(`${at}qk_norm.${letter}.weight`), weight(`${at}qk_norm.${letter}.bias`)) : of(letter))
    if (position.type === "Rope") [[q, H], [k, G]].forEach(([one, heads]) => rotate(one, heads, K, start, position.base))
    past.k.set(k, start * G * K)
    past.v.set(of("v"), start * G * K)
    const length = x.length / D, z = new Float32Array(length * H * K), falls = position.type === "Alibi" ? slopes(H) : null
    for (let t = 0; t < length; t++) for (let h = 0; h < H; h++) {
      if (off?.[0] === layer && off[1] === h) continue
      const g = Math.floor(h * G / H), n = (t * H + h) * K, scores = new Float64Array(open ? start + length : start + t + 1)
      for (let j = 0; j < scores.length; j++) {
        let dot = 0
        for (let i = 0; i < K; i++) dot += q[n + i] * past.k[(j * G + g) * K + i]
        scores[j] = dot * scale - (falls ? falls[h] * Math.abs(start + t - j) : 0)
      }
      softmax(scores).forEach((share, j) => { for (let i = 0; i < K; i++) z[n + i] += share * past.v[(j * G + g) * K + i] })
    }
    return linear(z, weight(`${at}o.weight`), weight(`${at}o.bias`), H * K)
  }

  // A state for each head, which decays and is corrected at every position (Yang et al. 2024, equation 10).
  function remember(layer, x, start, past) {
    const { n_keys: J, n_values: M, d_key: N, d_value: U, kernel: W } = config.mixers[layer], at = `decoder.blocks.${layer}.attn.`, length = x.length / D
    const of = (name, bias) => linear(x, weight(`${at}${name}.weight`), bias && weight(`${at}${name}.bias`), D), { silu } = ACTIVATIONS
    const [q, k, v] = ["q", "k", "v"].map(letter => {
      const made = of(letter), width = made.length / length, kernel = weight(`${at}${letter}_conv`), all = past.made[letter] ??= new Float32Array(n_context * width)
      all.set(made, start * width)
      return made.map((_, n) => {
        const c = n % width, here = start + (n - c) / width
        let sum = 0
        for (let w = Math.max(0, W - 1 - here); w < W; w++) sum += kernel[c * W + w] * all[(here + w - W + 1) * width + c]
        return silu(sum)
      })
    })
    for (const one of [q, k]) for (let n = 0; n < one.length; n += N) {
      const own = one.subarray(n, n + N), by = 1 / Math.sqrt(own.reduce((sum, part) => sum + part * part, 0) + 1e-6)
      for (let c = 0; c < N; c++) own[c] *= by
    }
    const beta = of("beta"), slowed = of("decay", true), rate = weight(`${at}rate`), gate = of("gate"), read = new Float32Array(length * M * U)
    for (let t = 0; t < length; t++) {
      const state = past.states[start + t] = Float32Array.from(past.states[start + t - 1] ?? new Float32Array(M * N * U))
      for (let m = 0, n = t * M; m < M; m++, n++) {
        const key = (t * J + Math.floor(m * J / M)) * N, keeps = Math.exp(-Math.exp(rate[m]) * Math.log1p(Math.exp(slowed[n]))), corrects = 1 / (1 + Math.exp(-beta[n]))
        for (let u = 0; u < U; u++) {
          let found = 0, seen = 0
          for (let c = 0; c < N; c++) found += (state[(m * N + c) * U + u] *= keeps) * k[key + c]
          for (let c = 0; c < N; c++) seen += (state[(m * N + c) * U + u] += k[key + c] * corrects * (v[n * U + u] - found)) * q[key + c]
          read[n * U + u] = seen / Math.sqrt(N)
        }
      }
    }
    const z = normed(read, { type: "RMSNorm", eps: config.norm.eps }, weight(`${at}norm.weight`)).map((one, n) => one * silu(gate[n]))
    return linear(z, weight(`${at}o.weight`), null, M * U)
  }

  function feed(layer, x) {
    const ffn = config.ffns[layer] ?? config.ffn, at = `decoder.blocks.${layer}.ffn.`
    const of = (name, from, width) => linear(from, weight(`${at}${name}.weight`), weight(`${at}${name}.bias`), width)
    if (ffn.type === "Experts") return routed(ffn, at, x, of)
    const act = ACTIVATIONS[ffn.activation], up = of("up", x, D)
    const gate = ffn.type === "Gated" ? of("gate", x, D) : null
    return of("down", up.map((one, n) => gate ? act(gate[n]) * one : act(one)), weight(`${at}up.weight`).length / D)
  }
  // Of several networks side by side each token passes those that the router gives most (Shazeer et al. 2017, section 2).
  function routed({ n_experts: E, top_k, expert, d_expert }, at, x, of) {
    const F = d_expert || config.d_ffn, up = weight(`${at}up.weight`), bias = weight(`${at}up.bias`), down = weight(`${at}down.weight`), shift = weight(`${at}down_bias.weight`)
    const y = new Float32Array(x.length), router = of("router", x, D)
    for (let t = 0; t < x.length / D; t++) {
      const probs = softmax(router.subarray(t * E, t * E + E)), chosen = [...probs.keys()].sort((a, b) => probs[b] - probs[a] || a - b).slice(0, top_k)
      const total = chosen.reduce((sum, e) => sum + probs[e], 0)
      for (const e of chosen) {
        const share = probs[e] / total, act = linear(x.subarray(t * D, t * D + D), up.subarray(e * F * D, (e + 1) * F * D), bias?.subarray(e * F, e * F + F), D).map(ACTIVATIONS[expert.activation])
        for (let d = 0; d < D; d++) {
          let sum = shift ? shift[d * E + e] : 0
          for (let f = 0, n = (d * E + e) * F; f < F; f++) sum += down[n + f] * act[f]
          y[t * D + d] += share * sum
        }
      }
    }
    return y
  }

  function embedded(ids, start, { position }) {
    const x = new Float32Array(ids.length * D), table = weight("embedding.weight"), by = config.scale_embedding ? Math.sqrt(D) : 1
    ids.forEach((id, t) => {
      for (let d = 0; d < D; d++) {
        const angle = (start + t) * (position.base ?? 1) ** (-(d - d % 2) / D)
        x[t * D + d] = by * table[id * D + d] + (position.type !== "Sinusoidal" ? 0 : d % 2 ? Math.cos(angle) : Math.sin(angle))
      }
    })
    return x
  }

  // The logits [V] after ids that stand from `start` on.
  function logits(ids, start, past, how) {
    const norm = (x, name) => normed(x, how.norm, weight(`decoder.${name}.weight`), weight(`decoder.${name}.bias`)), isPre = config.norm_at === "pre"
    let x = embedded(ids, start, how)
    for (let layer = 0; layer < n_layers; layer++) {
      for (const [name, part] of [["attn", x => (config.mixers[layer]?.type === "DeltaNet" ? remember : attend)(layer, x, start, past[layer], how)], ["ffn", x => feed(layer, x)]]) {
        const own = `blocks.${layer}.${name}_norm`
        x = isPre ? plus(x, part(norm(x, own))) : norm(plus(x, part(x)), own)
      }
    }
    const last = x.subarray(-D)
    return linear(isPre ? norm(last, "final_norm") : last, weight("head.unembedding.weight") ?? weight("embedding.weight"), null, D)
  }
  const cache = () => Array.from({ length: n_layers }, () => ({ k: new Float32Array(n_context * G * K), v: new Float32Array(n_context * G * K), made: {}, states: [] }))

  // A model with edits (viz_model/runs/edits) as an address writes them, which reads a text that grows.
  return edits => {
    const made = Object.fromEntries(edits.split("~").map(one => [one.split(".")[0], one.split(".").slice(1).map(Number)])), past = cache()
    const how = { norm: "no-norm" in made ? { type: "NoNorm" } : config.norm, position: "no-position" in made ? {} : config.position, scale: "no-scale" in made ? 1 : 1 / Math.sqrt(K), open: "no-mask" in made, off: made["head-off"] }
    let seen = []
    return ids => {
      let same = 0 // what it has read before; where earlier tokens see later ones, all of it changes
      while (!how.open && same < ids.length - 1 && ids[same] === seen[same]) same++
      seen = [...ids]
      return logits(ids.slice(same), same, past, how)
    }
  }
}

// Byte-pair encoding (Sennrich et al. 2016): of each stretch the join that was learned first, until none is left.
function tokenizer({ pattern, bytes }) {
  const ranks = new Map(bytes.map((hex, id) => [String.fromCharCode(...(hex.match(/../g) ?? []).map(two => parseInt(two, 16))), id])), stretches = new RegExp(pattern, "gu")
  return text => (text.match(stretches) ?? []).flatMap(stretch => {
    const parts = Array.from(new TextEncoder().encode(stretch), byte => String.fromCharCode(byte))
    if (ranks.has(parts.join(""))) return ranks.get(parts.join(""))
    for (;;) {
      let best = Infinity, at = -1
      for (let n = 1; n < parts.length; n++) {
        const rank = ranks.get(parts[n - 1] + parts[n]) ?? Infinity
        if (rank < best) [best, at] = [rank, n]
      }
      if (at < 0) return parts.map(part => ranks.get(part))
      parts.splice(at - 1, 2, parts[at - 1] + parts[at])
    }
  })
}

// The first number from 0 to 1 of PyTorch's generator: MT19937 (Matsumoto & Nishimura 1998), as far as that needs it.
function dice(seed) {
  const words = Uint32Array.of(seed, ...Array(398))
  for (let n = 1; n < 399; n++) words[n] = Math.imul(1812433253, words[n - 1] ^ words[n - 1] >>> 30) + n
  const [high, low] = [0, 1].map(n => {
    const mixed = words[n] & 0x80000000 | words[n + 1] & 0x7fffffff
    let word = words[n + 397] ^ mixed >>> 1 ^ (words[n + 1] & 1 && 0x9908b0df)
    word ^= word >>> 11
    word ^= word << 7 & 0x9d2c5680
    word ^= word << 15 & 0xefc60000
    return (word ^ word >>> 18) >>> 0
  })
  return (high % 2 ** 21 * 2 ** 32 + low) / 2 ** 53
}
// The token whose interval of the cumulative distribution holds a number, likelier ones first (viz_model/runs/generation.py).
function drawn(probs, number) {
  const order = [...probs.keys()].filter(id => probs[id] > 0).sort((a, b) => probs[b] - probs[a] || a - b)
  let sum = 0
  return order.find(id => (sum += probs[id]) > number) ?? order.at(-1)
}

// What viz_model/topics/walk/writing.py answers, as often as it is asked: a text, and which tokens follow it.
export function decoder(sent, arrays) {
  const { end, labels, bytes, config } = sent, encode = tokenizer(sent), model = transformer(sent, arrays), models = {}
  const read = (ids, edits = "") => (models[edits] ??= model(edits))(ids.slice(-config.n_context))
  const token = id => ({ id, label: labels[id], bytes: bytes[id] ?? "", ...(id === end ? { ends: true } : {}) })
  const whole = probs => Math.round(probs * 10_000)

  function places({ text, ids: written, temperature, seed, n, edits, temperatures, likeliest, most }) {
    let ids = [...encode(text), ...written].slice(-config.n_context)
    const found = [], until = performance.now() + LONGEST
    while (ids.length) {
      const logits = read(ids, edits), first = logits.indexOf(logits.reduce((a, b) => Math.max(a, b)))
      const probs = temperatures.map(degrees => degrees ? softmax(logits, degrees) : logits.map((_, id) => Number(id === first)))
      const best = [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b).slice(0, likeliest), place = { tokens: best.map(token), p: probs.map(row => best.map(id => whole(row[id]))) }
      found.push(place)
      if (found.length > n || written.length + found.length > most || (found.length > 1 && performance.now() > until)) break
      const id = temperature ? drawn(Float32Array.from(softmax(logits, temperature)), dice(1_000_003 * seed + written.length + found.length)) : first
      place.drawn = { ...token(id), p: probs.map(row => whole(row[id])) }
      if (id === end) break
      ids.push(id)
      if (ids.length > config.n_context) ids = ids.slice(-Math.max(1, config.n_context >> 1)) // the later half is read again
    }
    return found
  }
  return { encode, read, places }
}
