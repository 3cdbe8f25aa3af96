# Every number that tests/numerics/quaver_values.py takes from Quaver, from R and its packages instead.
# Prints a line a number: name, value with 17 digits, by what.  Rscript reference.R FOLDER_OF_DATA SLOPES.csv
suppressMessages({library(psych); library(vcd); library(lme4)})
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
put <- function(name, value, by) cat(name, sprintf("%.17g", as.numeric(value)), by, sep = "\t", fill = FALSE, "\n")
base <- paste0("R ", R.version$major, ".", R.version$minor)
of <- function(package) paste(package, packageVersion(package))

# ---- Coefficients of agreement -------------------------------------------------------------------------------
# Krippendorff's alpha from coincidences (irr is not in every distribution): m is units x raters, NA missing.
alpha <- function(m, level = "nominal") {
  values <- sort(unique(na.omit(c(m))))
  o <- matrix(0, length(values), length(values))
  for (u in seq_len(nrow(m))) {
    x <- match(na.omit(m[u, ]), values)
    if (length(x) < 2) next
    for (i in seq_along(x)) for (j in seq_along(x)) if (i != j) {
      o[x[i], x[j]] <- o[x[i], x[j]] + 1 / (length(x) - 1)
    }
  }
  keep <- rowSums(o) > 0
  o <- o[keep, keep, drop = FALSE]; values <- values[keep]
  n <- rowSums(o)
  d <- outer(seq_along(n), seq_along(n), Vectorize(function(a, b) switch(level,
    nominal = as.numeric(a != b),
    interval = (values[a] - values[b])^2,
    ratio = if (a == b) 0 else ((values[a] - values[b]) / (values[a] + values[b]))^2,
    ordinal = (sum(n[min(a, b):max(a, b)]) - (n[a] + n[b]) / 2)^2)))
  1 - (sum(n) - 1) * sum(o * d) / (sum(outer(n, n) * d))
}
four <- as.matrix(read.csv(file.path(folder, "four_observers.csv")))
for (level in c("nominal", "ordinal", "interval", "ratio")) {
  put(paste("krippendorff_alpha", level), alpha(four, level), paste(base, "coincidences"))
}
two <- read.csv(file.path(folder, "two_raters.csv"))
kappa <- cohen.kappa(cbind(two$first, two$second))
put("cohen_kappa nominal", kappa$kappa, paste(of("psych"), "cohen.kappa"))
put("cohen_kappa interval", kappa$weighted.kappa, paste(of("psych"), "cohen.kappa, weighted"))
tabled <- Kappa(table(factor(two$first, 1:4), factor(two$second, 1:4)))
put("cohen_kappa nominal, by vcd", tabled$Unweighted["value"], paste(of("vcd"), "Kappa"))
counts <- t(apply(cbind(two$first, two$second), 1, function(x) tabulate(x, 4)))
agree <- function(counts) mean(rowSums(counts * (counts - 1)) / (rowSums(counts) * (rowSums(counts) - 1)))
share <- function(counts) colMeans(counts / rowSums(counts))
put("percent_agreement", agree(counts), paste(base, "pairs"))
put("fleiss_kappa", (agree(counts) - sum(share(counts)^2)) / (1 - sum(share(counts)^2)), paste(base, "formula"))
chance <- sum(share(counts) * (1 - share(counts))) / 3
put("gwet_ac nominal", (agree(counts) - chance) / (1 - chance), paste(base, "formula"))

# ---- Measures of annotations ---------------------------------------------------------------------------------
all <- read.csv(file.path(folder, "annotations.csv"), na.strings = "", colClasses = c(label = "character"))
a <- all[all$model == "m1", ]
a$right <- !is.na(a$label) & a$label == a$gold
code <- function(x) match(x, c("a", "b", "c"))
wide <- function(d, columns) {
  key <- interaction(d[columns], drop = TRUE, lex.order = TRUE)
  m <- matrix(NA, 24, nlevels(key))
  m[cbind(match(d$item, sort(unique(a$item))), as.integer(key))] <- code(d$label)
  m
}
per <- function(d, column, f, ...) sapply(split(d, d[[column]], drop = TRUE), f, ...)
put("intra_pss", mean(per(a, "variant", function(d) alpha(wide(d, "repeat.")))), paste(base, "coincidences"))
put("inter_pss", mean(per(a, "repeat.", function(d) alpha(wide(d, "variant")))), paste(base, "coincidences"))
first <- function(d, k) alpha(wide(d[d$repeat. %in% k, ], "repeat."))
put("intra_pss_adjacent 1, 2", mean(per(a, "variant", first, k = 1:2)), paste(base, "coincidences"))
put("intra_pss_cumulative 2", mean(per(a, "variant", first, k = 0:1)), paste(base, "coincidences"))
pair <- function(d) alpha(wide(d[d$variant %in% c("v0", "v1"), ], "variant"))
put("original_agreement v1", mean(per(a, "repeat.", pair)), paste(base, "coincidences"))
all$asking <- interaction(all$variant, all$repeat.)
put("inter_model", mean(per(all, "asking", function(d) alpha(wide(d, "model")))), paste(base, "coincidences"))
a$asking <- interaction(a$variant, a$repeat.)
coder <- function(d) { o <- order(d$item); alpha(cbind(code(d$label[o]), code(d$coder_1[o]))) }
put("coder_agreement_model coder_1", mean(per(a, "asking", coder)), paste(base, "coincidences"))
items <- a[!duplicated(a$item), ]
put("coder_agreement_coders coder_1, coder_2", alpha(cbind(code(items$coder_1), code(items$coder_2))),
  paste(base, "coincidences"))

put("accuracy", mean(a$right), paste(base, "mean"))
put("accuracy drop", mean((a$label == a$gold)[!is.na(a$label)]), paste(base, "mean"))
f1 <- sapply(c("a", "b", "c"), function(k) {
  said <- !is.na(a$label) & a$label == k
  2 * sum(said & a$gold == k) / (sum(said) + sum(a$gold == k))
})
put("f1_macro", mean(f1), paste(base, "formula"))
put("f1_label b", f1["b"], paste(base, "formula"))
put("f1_micro", 2 * sum(a$right) / (sum(!is.na(a$label)) + nrow(a)), paste(base, "formula"))
by_variant <- tapply(a$right, a$variant, mean)
put("spread", diff(range(by_variant)), paste(base, "range"))
put("differences v1 less v0", by_variant["v1"] - by_variant["v0"], paste(base, "means"))
single <- a[a$repeat. == 0, ]
right <- function(v) single$right[single$variant == v][order(single$item[single$variant == v])]
better <- sum(right("v2") & !right("v0")); worse <- sum(!right("v2") & right("v0"))
put("differences p, exact McNemar", binom.test(better, better + worse)$p.value, paste(base, "binom.test"))
tones <- tapply(a$right, a$tone, mean)
put("factor_effects_accuracy_difference polite", tones["polite"] - tones["plain"], paste(base, "means"))
read <- function(x) ifelse(is.na(x), "none", x)
put("evaluator_flips", mean(read(a$label) != read(a$second)), paste(base, "mean"))
put("evaluator_flips_accuracy_gain", mean(!is.na(a$second) & a$second == a$gold) - mean(a$right), paste(base, "means"))
put("evaluator_flips_newly_wrong", mean((is.na(a$second) | a$second != a$gold)[a$right]), paste(base, "mean"))

known <- a[!is.na(a$label), ]
known$right <- as.numeric(known$label == known$gold)
gap <- function(confidence, right, bins) {
  d <- data.frame(confidence, right)
  bin <- cut(d$confidence, seq(0, 1, length.out = bins + 1), include.lowest = TRUE)
  split(d, bin, drop = TRUE)
}
ece <- function(confidence, right, bins = 10) sum(sapply(gap(confidence, right, bins), function(d) {
  nrow(d) / length(right) * abs(mean(d$confidence) - mean(d$right)) }))
put("brier", mean((known$confidence - known$right)^2), paste(base, "mean"))
put("ece", ece(known$confidence, known$right), paste(base, "cut"))
condition <- function(d) abs(ece(d$token, d$right) - ece(d$confidence, d$right))
put("ece_shift", mean(per(known, "variant", condition)), paste(base, "cut"))
put("verbal_calibration_minus_accuracy", mean(known$confidence) - mean(known$right), paste(base, "means"))

labels <- function(d) prop.table(table(factor(d$label, c("a", "b", "c"))))
put("label_shares a", labels(a)["a"], paste(base, "prop.table"))
p <- labels(a[a$variant == "v1", ]); q <- labels(a[a$variant == "v0", ])
put("distribution_shift_tv v1", sum(abs(p - q)) / 2, paste(base, "formula"))
entropy <- function(n) { s <- n[n > 0] / sum(n); -sum(s * log(s)) }
cells <- split(a, list(a$item, a$variant))
asked <- lapply(cells, function(d) table(read(d$label)))
labelled <- Filter(function(n) any(names(n) != "none"), asked)
put("answer_entropy", mean(tapply(sapply(labelled, entropy) / log(2), sub(".*\\.", "", names(labelled)), mean)),
  paste(base, "formula"))
put("mode_frequency", mean(tapply(sapply(labelled, function(n) max(n) / sum(n)), sub(".*\\.", "", names(labelled)), mean)),
  paste(base, "formula"))
strict <- sapply(asked, function(n) length(n) == 1 && names(n) != "none")
put("strict_stability", mean(strict), paste(base, "mean"))
put("compliance", mean(a$status == "valid"), paste(base, "mean"))
sensitive <- per(a, "repeat.", function(d) {
  s <- sapply(split(d, d$item), function(e) { n <- table(e$label); if (sum(n) < 2) NA else entropy(n) / log(3) })
  mean(s, na.rm = TRUE)
})
put("sensitivity", mean(sensitive), paste(base, "formula"))
alike <- function(d) {
  shares <- t(sapply(split(d, d$item), function(e) as.numeric(labels(e))))
  gold <- items$gold[match(rownames(shares), items$item)]
  mean(sapply(split(seq_along(gold), gold), function(k) {
    both <- combn(k, 2)
    mean(apply(both, 2, function(i) 1 - sum(abs(shares[i[1], ] - shares[i[2], ])) / 2), na.rm = TRUE)
  }))
}
put("consistency", mean(per(a, "repeat.", alike)), paste(base, "formula"))

# ---- Regressions ---------------------------------------------------------------------------------------------
outcome <- function(v) {
  some <- known[known$variant == v, ]
  d <- merge(aggregate(list(share = some$label == "a"), list(item = some$item), mean), items[c("item", "number", "coder_1")])
  lm(share ~ number + coder_1, d)
}
put("conclusion linear v0", coef(outcome("v0"))["number"], paste(base, "lm"))
put("conclusion linear v0, a category", coef(outcome("v0"))["coder_1b"], paste(base, "lm"))
d <- read.csv(arguments[2])
d <- d[rep(seq_len(nrow(d)), d$asked), ]
d$correct <- as.integer(ave(d$right, d$item, d$treatment, d$temperature, FUN = seq_along) <= d$right)
whole <- glmer(correct ~ treatment * temperature + (1 | item), d, binomial, nAGQ = 15,
  control = glmerControl("bobyqa", optCtrl = list(maxfun = 2e5, rhoend = 1e-10), tolPwrss = 1e-12))
for (term in names(fixef(whole))) {
  put(paste("mixed_effects", term), fixef(whole)[term], paste(of("lme4"), "glmer"))
  put(paste("mixed_effects se", term), sqrt(diag(vcov(whole)))[term], paste(of("lme4"), "glmer"))
}
put("mixed_effects sd item", as.data.frame(VarCorr(whole))$sdcor, paste(of("lme4"), "glmer"))
put("mixed_effects log likelihood", logLik(whole), paste(of("lme4"), "glmer"))

# ---- Intervals ------------------------------------------------------------------------------------------------
put("clopper_pearson 7 of 40, low", binom.test(7, 40)$conf.int[1], paste(base, "binom.test"))
put("clopper_pearson 7 of 40, high", binom.test(7, 40)$conf.int[2], paste(base, "binom.test"))
put("holm, third of 0.01 0.04 0.03", p.adjust(c(0.01, 0.04, 0.03), "holm")[3], paste(base, "p.adjust"))
